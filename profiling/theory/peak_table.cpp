#include "profiling/theory/peak_table.h"

#include <algorithm>
#include <vector>

#include "profiling/report/rows/cells.h"

namespace headroom {

Table peak_table(const Peak& peak) {
  Table table{.title = "Alive at the peak of a step",
              .notes = {"The peak is at " + peak.where + "."},
              .columns = {{"part"}, {"made at"}, {"storages", true}},
              .keys = 2};
  add_bytes_columns(table, "size");
  std::vector<Row> places;  // of all sizes together
  for (const Row& row : peak.rows) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Row& known) {
      return known.group == row.group && known.source == row.source;
    });
    if (place == places.end()) {
      places.push_back(row);
    } else {
      place->storages += row.storages;
      place->bytes += row.bytes;
    }
  }
  for (const Row& row : places) {
    table.rows.push_back(
        {row.group, row.source.empty() ? "-" : row.source, std::to_string(row.storages)});
    add_bytes_cells(table.rows.back(), row.bytes);
  }
  table.rows.push_back({"sum", "-", "-"});
  add_bytes_cells(table.rows.back(), peak.allocated);
  return table;
}

}  // namespace headroom
