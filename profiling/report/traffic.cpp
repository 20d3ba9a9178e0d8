#include "profiling/report/traffic.h"

#include <string>

#include "profiling/report/rows/cells.h"
#include "profiling/theory/host_link.h"

namespace headroom {
namespace {

Table traffic_table(const Record& record, const std::string& title,
                    const std::vector<std::string>& ways) {
  Table table{.title = title + ", in one recorded step", .columns = {{"way"}}};
  add_bytes_columns(table, "moved");
  for (const std::string& way : ways) {
    const auto found = record.host_traffic.find(way);
    if (found == record.host_traffic.end()) continue;
    table.rows.push_back({readable(way)});
    add_bytes_cells(table.rows.back(), found->second);
  }
  return table;
}

int64_t moved(const Record& record, const std::string& way) {
  const auto found = record.host_traffic.find(way);
  return found == record.host_traffic.end() ? 0 : found->second;
}

}  // namespace

std::vector<Table> traffic_tables(const Record& record) {
  std::vector<Table> tables;
  tables.push_back(traffic_table(record, "Over the host link", {"to_card", "to_host"}));
  tables.back().notes = host_link_notes(
      record.spec, {.to_host = moved(record, "to_host"), .to_card = moved(record, "to_card")});
  tables.push_back(traffic_table(record, "To and from the disk", {"from_disk", "to_disk"}));
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace headroom
