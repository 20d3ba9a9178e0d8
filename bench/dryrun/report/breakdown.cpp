#include "bench/dryrun/report/breakdown.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace headroom {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kRounding = "allocator rounding";
constexpr const char* kNotAttributed = "not attributed";

bool is_number(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(),
                                      [](unsigned char c) { return c >= '0' && c <= '9'; });
}

// "GPT" is "GPT#1" where there is a "GPT#2".
void name_siblings(json& rows) {
  std::set<std::string> numbered;
  for (const json& row : rows) {
    const std::string owner = row["owner"];
    const size_t mark = owner.find('#');
    if (mark < owner.find('.')) numbered.insert(owner.substr(0, mark));
  }
  for (json& row : rows) {
    const std::string owner = row["owner"];
    const std::string root = owner.substr(0, owner.find_first_of(". "));
    if (numbered.contains(root)) row["owner"] = root + "#1" + owner.substr(root.size());
  }
}

// Rows of one name: their bytes by category.
struct Group {
  std::set<std::string> names;  // that were folded
  std::map<std::string, int64_t> categories;
  int64_t bytes = 0;
  int64_t blocks = 0;
};
using Groups = std::map<std::string, Group>;

std::string owner_name(const json& row) {
  const std::string owner = row["owner"];
  if (!owner.empty()) return folded(owner);
  if (row["category"] == "workspaces") return "(workspaces)";
  const std::string phase = row["phase"];
  return phase == "outside" ? "(outside of modules)" : "(" + phase + ", no module)";
}

std::string line_name(const json& row) {
  const std::string place = row["place"];
  return place.empty() ? std::string(kNotAttributed) + ": no line of the program is known" : place;
}

std::string operation_name(const json& row) {
  const std::string operation = row["operation"];
  return operation.empty() ? std::string(kNotAttributed) + ": no operation of libtorch ran"
                           : operation;
}

void add(Group& group, const json& row) {
  const int64_t bytes = row["bytes"];
  group.names.insert(row["owner"].get<std::string>());
  group.categories[row["category"].get<std::string>()] += bytes;
  group.bytes += bytes;
  group.blocks += row["blocks"].get<int64_t>();
}

// The largest first. Rounding belongs to blocks, and stands in the categories alone.
template <typename Name>
ordered_json groups_document(const json& rows, const char* key, Name name_of) {
  Groups groups;
  for (const json& row : rows) {
    if (row["category"] != kRounding) add(groups[name_of(row)], row);
  }
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  ordered_json all = ordered_json::array();
  for (const auto& [name, group] : sorted) {
    all.push_back({{key, name},
                   {"count", group.names.size()},
                   {"bytes", group.bytes},
                   {"blocks", group.blocks},
                   {"categories", group.categories}});
  }
  return all;
}

ordered_json categories_document(const json& rows) {
  ordered_json sums = ordered_json::object();
  for (const json& row : rows) {  // in the order of the categories
    const std::string name = row["category"];
    sums[name] = sums.value(name, int64_t{0}) + row["bytes"].get<int64_t>();
  }
  return sums;
}

std::set<std::string> reasons_of(const json& rows) {
  std::set<std::string> reasons;
  for (const json& row : rows) {
    if (row["category"] == kNotAttributed) reasons.insert(row["reason"].get<std::string>());
  }
  return reasons;
}

void add_instant(ordered_json& out, const json& instant) {
  json rows = instant["rows"];
  name_siblings(rows);
  const int64_t allocated = instant["allocated_bytes"];
  const int64_t reserved = instant["reserved_bytes"];
  out["allocated_bytes"] = allocated;
  out["reserved_bytes"] = reserved;
  out["cached_bytes"] = reserved - allocated;
  out["categories"] = categories_document(rows);
  out["reasons"] = reasons_of(rows);
  out["modules"] = groups_document(rows, "module", owner_name);
  out["lines"] = groups_document(rows, "line", line_name);
  out["operations"] = groups_document(rows, "operation", operation_name);
}

ordered_json device_document(const json& device) {
  ordered_json out = {{"ordinal", device["ordinal"]}, {"peak_step", device["peak_step"]}};
  add_instant(out, device["peak"]);
  out["steps"] = device["steps"];
  return out;
}

ordered_json refusal_document(const json& refusal) {
  ordered_json out;
  for (const char* field : {"ordinal", "wanted_bytes", "where", "free_bytes_in_segments",
                            "largest_free_block_bytes", "segments_with_holes"}) {
    out[field] = refusal[field];
  }
  add_instant(out, refusal);
  return out;
}

// The report of the process's hook; null if it has none.
json report_of(const DryRunOutcome& outcome, const ordered_json& process) {
  for (const ProcessReport& one : outcome.reports) {
    json report = json::parse(one.allocator, nullptr, false);
    if (!report.is_object() || report.value("pid", json()) != json(process["pid"])) continue;
    if (report.contains("breakdown")) return report["breakdown"];
  }
  return nullptr;
}

}  // namespace

std::string folded(const std::string& path) {
  const size_t names = std::min(path.find(' '), path.size());  // then its type follows
  std::string out;
  for (size_t begin = 0; begin < names;) {
    const size_t end = std::min(path.find('.', begin), names);
    std::string word = path.substr(begin, end - begin);
    const size_t mark = word.find('#');
    if (is_number(word)) word = "*";
    if (mark != std::string::npos) word.replace(mark + 1, std::string::npos, "*");
    out += (begin == 0 ? "" : ".") + word;
    begin = end + 1;
  }
  return out + path.substr(names);
}

ordered_json breakdown_document(const ordered_json& document, const DryRunOutcome& outcome) {
  ordered_json breakdown = {{"schema_version", 1},
                            {"program", document["program"]},
                            {"card", document["card"]},
                            {"processes", ordered_json::array()}};
  for (const ordered_json& process : document["processes"]) {
    const json report = report_of(outcome, process);
    ordered_json& out = breakdown["processes"].emplace_back();
    out["pid"] = process["pid"];
    if (process.contains("rank")) out["rank"] = process["rank"];
    out["reason"] = report.is_object() ? report.value("reason", "")
                                       : "no Python with the start-up hook, and no C++ program "
                                         "with modules, reported its memory";
    out["devices"] = ordered_json::array();
    out["out_of_memory"] = ordered_json::array();
    if (!report.is_object()) continue;
    for (const json& device : report.value("devices", json::array())) {
      if (device["peak"]["allocated_bytes"] > 0) out["devices"].push_back(device_document(device));
    }
    for (const json& refusal : report.value("out_of_memory", json::array())) {
      out["out_of_memory"].push_back(refusal_document(refusal));
    }
  }
  return breakdown;
}

}  // namespace headroom
