// The tables of bench/dryrun/report/breakdown.h.
#include <algorithm>
#include <vector>

#include "bench/dryrun/report/breakdown.h"
#include "profiling/report/rows/cells.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/table.h"
#include "text/wrap.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostRows = 12;  // of modules, lines and operations; all are in the file

Table uses_table(const std::string& title, const ordered_json& instant) {
  Table table{.title = title, .columns = {{"use"}, {"size", true}, {"share", true}}};
  const int64_t allocated = instant["allocated_bytes"];
  for (const auto& [name, bytes] : instant["categories"].items()) {
    table.rows.push_back({name, format_bytes(bytes), percent(bytes, allocated)});
  }
  table.rows.push_back({"allocated", format_bytes(allocated), percent(allocated, allocated)});
  table.rows.push_back(
      {"cached beside it", format_bytes(instant["cached_bytes"].get<int64_t>()), ""});
  for (const std::string reason : instant["reasons"]) {
    table.notes.push_back("not attributed: " + reason);
  }
  return table;
}

// The largest categories of a process: "activations, temporaries".
std::string uses_of(const ordered_json& group) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [name, bytes] : group["categories"].items()) {
    sorted.emplace_back(-bytes.get<int64_t>(), name);
  }
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (size_t i = 0; i < sorted.size() && i < 3; ++i) {
    if (i > 0) text += ", ";
    text += sorted[i].second;
    if (sorted.size() > 1) text += " " + format_bytes(-sorted[i].first);
  }
  return text;
}

Table groups_table(const char* key, const ordered_json& groups, bool is_counted) {
  Table table{.title = std::string("By ") + key, .columns = {{key}}};
  if (is_counted) table.columns.push_back({"count", true});
  table.columns.push_back({"size", true});
  table.columns.push_back({"uses"});
  for (size_t i = 0; i < groups.size() && i < kMostRows; ++i) {
    const ordered_json& group = groups[i];
    std::vector<std::string> row = {printable(group[key].get<std::string>())};
    if (is_counted) row.push_back(grouped(group["count"].get<int64_t>()));
    row.push_back(format_bytes(group["bytes"]));
    row.push_back(uses_of(group));
    table.rows.push_back(std::move(row));
  }
  int64_t rest = 0;
  for (size_t i = kMostRows; i < groups.size(); ++i) rest += groups[i]["bytes"].get<int64_t>();
  if (groups.size() > kMostRows) {
    table.notes.push_back(grouped(static_cast<int64_t>(groups.size() - kMostRows)) +
                          " more rows, of " + format_bytes(rest) + " in all");
  }
  return table;
}

std::string steps_name(const ordered_json& step) {
  const int64_t first = step["first"];
  const int64_t last = step["last"];
  if (step["owner"] == "") return "rest";
  return std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
}

// Each row is a step, or several with the same figures in a row.
Table steps_table(const ordered_json& device) {
  Table table{.title = "By step of an optimizer",
              .columns = {{"step"},
                          {"optimizer"},
                          {"peak allocated", true},
                          {"live after", true},
                          {"growth", true}}};
  const ordered_json& steps = device["steps"];
  int64_t before = -1;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ordered_json& step = steps[i];
    const int64_t live = step["live_bytes_after"];
    if (i < kMostRows) {
      table.rows.push_back({steps_name(step), step["owner"].get<std::string>(),
                            format_bytes(step["peak_allocated_bytes"]), format_bytes(live),
                            before < 0 || step["owner"] == "" ? "" : signed_bytes(live - before)});
    }
    before = live;
  }
  if (steps.size() > kMostRows) {
    table.notes.push_back(grouped(static_cast<int64_t>(steps.size() - kMostRows)) + " more rows");
  }
  return table;
}

std::vector<Table> groups_tables(const ordered_json& instant) {
  return {groups_table("module", instant["modules"], true),
          groups_table("line", instant["lines"], false),
          groups_table("operation", instant["operations"], false)};
}

std::string prefix_of(const ordered_json& breakdown, const ordered_json& process) {
  if (process.contains("rank")) return "rank " + process["rank"].dump() + ": ";
  return breakdown["processes"].size() == 1 ? "" : "process " + process["pid"].dump() + ": ";
}

std::string refusal_title(const std::string& prefix, const ordered_json& refusal) {
  return prefix + "Memory of device " + refusal["ordinal"].dump() + " where it ran out";
}

std::string peak_title(const std::string& prefix, const ordered_json& device) {
  std::string title = prefix + "Memory of device " + device["ordinal"].dump() + " at its peak";
  if (device["steps"].size() > 1) title += ", in step " + device["peak_step"].dump();
  return title;
}

std::string refusal_text(const std::string& prefix, const ordered_json& refusal, size_t width) {
  const std::string title = refusal_title(prefix, refusal);
  std::string text = to_string(uses_table(title, refusal), TableFormat::kText, width);
  text += fitted(
      format_bytes(refusal["wanted_bytes"]) + " wanted at " +
          printable(refusal["where"].get<std::string>()) +
          "; free in the allocator's segments: " + format_bytes(refusal["free_bytes_in_segments"]) +
          ", the largest block " + format_bytes(refusal["largest_free_block_bytes"]) + ", " +
          grouped(refusal["segments_with_holes"].get<int64_t>()) + " segments with holes\n",
      width);
  return text + "\n" + to_string(groups_tables(refusal), TableFormat::kText, width);
}

}  // namespace

std::string breakdown_summary(const ordered_json& breakdown, size_t width) {
  std::string text;
  for (const ordered_json& process : breakdown["processes"]) {
    const std::string prefix = prefix_of(breakdown, process);
    const ordered_json& refusals = process["out_of_memory"];
    std::vector<Table> tables;
    if (!refusals.empty()) {
      tables.push_back(uses_table(refusal_title(prefix, refusals.back()), refusals.back()));
    }
    for (const ordered_json& device : process["devices"]) {
      if (refusals.empty()) tables.push_back(uses_table(peak_title(prefix, device), device));
    }
    text += "\n" + to_string(tables, TableFormat::kText, width);
  }
  return text;
}

std::string breakdown_text(const ordered_json& breakdown, size_t width) {
  std::string text;
  for (const ordered_json& process : breakdown["processes"]) {
    const std::string prefix = prefix_of(breakdown, process);
    const std::string reason = process["reason"];
    if (!reason.empty()) text += fitted("\n" + prefix + "no breakdown: " + reason + "\n", width);
    for (const ordered_json& device : process["devices"]) {
      std::vector<Table> tables = {uses_table(peak_title(prefix, device), device)};
      for (Table& table : groups_tables(device)) tables.push_back(std::move(table));
      if (device["steps"].size() > 1) tables.push_back(steps_table(device));
      text += "\n" + to_string(tables, TableFormat::kText, width);
    }
    if (process["out_of_memory"].empty()) continue;
    text += "\n" + refusal_text(prefix, process["out_of_memory"].back(), width);
  }
  return text;
}

}  // namespace headroom
