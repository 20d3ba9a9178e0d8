#include "profiling/report/out_of_memory.h"

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {

Table out_of_memory_table(const OutOfMemory& moment) {
  Table table{.title = "When memory ran out",
              .columns = {{"figure"}, {"size", true}, {"bytes", true}}};
  std::string where = "In " + moment.during;
  if (!moment.phase.empty()) where += ", " + moment.phase;
  table.notes.push_back(where + "; of the memory: " + readable(moment.memory) + ".");
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

}  // namespace headroom
