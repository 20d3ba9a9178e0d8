#include "profiling/report/out_of_memory.h"

#include <algorithm>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {

Table out_of_memory_table(const OutOfMemory& moment) {
  Table table{.title = "When memory ran out",
              .columns = {{"figure"}, {"size", true}, {"bytes", true}}};
  std::string where = "In " + moment.during;
  if (!moment.phase.empty()) where += ", " + moment.phase;
  table.notes.push_back(where + "; memory: " + readable(moment.memory) + ".");
  const Refusal& refusal = *moment.refusal;
  const auto add = [&](const char* name, int64_t bytes) {
    table.rows.push_back({name, format_bytes(bytes), std::to_string(bytes)});
  };
  add("tried to allocate", refusal.tried);
  add("free", refusal.free);
  add("allocated", refusal.live.allocated);
  add("reserved, not allocated", refusal.live.reserved - refusal.live.allocated);
  add("total", refusal.total);
  return table;
}

Table live_table(const OutOfMemory& moment) {
  Table table{.title = "Live when memory ran out",
              .columns = {{"component"}, {"size", true}, {"bytes", true}}};
  std::vector<std::pair<std::string, int64_t>> rows;
  for (const auto& [name, bytes] : moment.components) rows.emplace_back(name.text(), bytes);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, bytes] : rows) {
    table.rows.push_back({readable(name), format_bytes(bytes), std::to_string(bytes)});
  }
  table.notes.push_back("requested bytes; grew last: " + readable(moment.grew_last));
  return table;
}

}  // namespace headroom
