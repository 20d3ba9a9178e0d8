#include "profiling/report/snapshots/divergence.h"

#include <algorithm>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "profiling/report/snapshots/diff.h"
#include "text/quantity.h"

namespace headroom {
namespace {

Table allocator_settings_table(const SnapshotDivergence& divergence) {
  Table table{.title = "Allocator settings that differ",
              .columns = {{.name = "setting"}, {.name = "A"}, {.name = "B"}}};
  for (const SettingDifference& setting : divergence.settings) {
    table.rows.push_back({setting.name, setting.a, setting.b});
  }
  return table;
}

Table totals_table(const SnapshotDivergence& divergence) {
  Table table = snapshot_diff_table(divergence.diff);
  table.title = divergence.same() ? "The snapshots are equal" : "The snapshots differ";
  const int64_t a = divergence.a.peak_bytes;
  const int64_t b = divergence.b.peak_bytes;
  table.rows.push_back(
      {"peak of live bytes", std::to_string(a), std::to_string(b), std::to_string(b - a)});
  return table;
}

std::string moment_in_words(const char* side, const SideOfMoment& moment) {
  std::string text = std::string(side) + ": " + format_bytes(moment.bytes) + " live ";
  text += moment.event < 0 ? "before its first event"
                           : "after its event " + std::to_string(moment.event);
  if (!moment.phase.empty()) text += ", in " + moment.phase;
  return text;
}

Table lines_table(const SnapshotDivergence& divergence, size_t limit) {
  const int64_t change = divergence.b.bytes - divergence.a.bytes;
  Table table{
      .title = "Live memory by line of code, where the two differ most: " + signed_bytes(change),
      .columns = {{.name = "line"},
                  {.name = "change"},
                  {.name = "size"},
                  {.name = "A bytes", .number = true},
                  {.name = "B bytes", .number = true},
                  {.name = "B - A", .number = true},
                  {.name = "A count", .number = true, .exact = true},
                  {.name = "B count", .number = true, .exact = true}},
      .keys = 1};
  const size_t shown =
      limit == 0 ? divergence.lines.size() : std::min(limit, divergence.lines.size());
  for (size_t i = 0; i < shown; ++i) {
    const LineDifference& line = divergence.lines[i];
    std::string name = line.line.empty() ? "(no stack recorded)" : line.line;
    if (!line.purpose.empty()) name += " [" + line.purpose + "]";
    table.rows.push_back({std::move(name), change_in_words(line), signed_bytes(line.change()),
                          std::to_string(line.bytes_a), std::to_string(line.bytes_b),
                          std::to_string(line.change()), std::to_string(line.count_a),
                          std::to_string(line.count_b)});
  }
  table.notes.push_back(moment_in_words("A", divergence.a) + "; " +
                        moment_in_words("B", divergence.b) + ".");
  for (const auto& [name, side] : {std::pair("A", &divergence.a), std::pair("B", &divergence.b)}) {
    if (side->tail == 0) continue;
    table.notes.push_back(std::string(name) + " goes on for " + std::to_string(side->tail) +
                          " allocations after the other's end; they are not compared.");
  }
  if (shown < divergence.lines.size()) {
    table.notes.push_back("Not shown: " + std::to_string(divergence.lines.size() - shown) +
                          " lines with smaller changes.");
  }
  return table;
}

}  // namespace

std::string change_in_words(const LineDifference& line) {
  if (line.count_a == 0) return "only in B";
  if (line.count_b == 0) return "only in A";
  if (line.change() == 0) return "other blocks";
  return line.change() > 0 ? "grown" : "shrunk";
}

std::vector<Table> divergence_tables(const SnapshotDivergence& divergence, size_t limit) {
  std::vector<Table> tables;
  if (!divergence.settings.empty()) tables.push_back(allocator_settings_table(divergence));
  tables.push_back(totals_table(divergence));
  if (!divergence.lines.empty()) tables.push_back(lines_table(divergence, limit));
  return tables;
}

}  // namespace headroom
