// snapshot_diff_table: two snapshots side by side.
#include "profiling/report/snapshots/diff.h"

namespace headroom {
namespace {

std::vector<std::string> row(const std::string& what, int64_t a, int64_t b) {
  return {what, std::to_string(a), std::to_string(b), std::to_string(b - a)};
}

std::string in_words(const SnapshotDiff& diff) {
  if (diff.first_difference) {
    return "The sequences of (action, size) part at event " +
           std::to_string(*diff.first_difference) + ": A " + diff.event_a + ", B " + diff.event_b +
           ".";
  }
  return diff.frees_in_another_order
             ? "The sequences of (action, size) are the same but for the order of frees in a row."
             : "The sequences of (action, size) are the same, event by event.";
}

}  // namespace

Table snapshot_diff_table(const SnapshotDiff& diff) {
  Table table{.title = "Two snapshots"};
  table.columns = {{.name = "quantity"},
                   {.name = "A", .number = true},
                   {.name = "B", .number = true},
                   {.name = "B - A", .number = true}};
  table.rows = {row("events", diff.a.events, diff.b.events),
                row("segments", diff.a.segments, diff.b.segments),
                row("reserved bytes", diff.a.reserved_bytes, diff.b.reserved_bytes),
                row("allocated bytes", diff.a.allocated_bytes, diff.b.allocated_bytes)};
  table.notes.push_back(in_words(diff));
  return table;
}

}  // namespace headroom
