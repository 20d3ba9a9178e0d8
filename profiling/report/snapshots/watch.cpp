#include "profiling/report/snapshots/watch.h"

#include <algorithm>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kMostSteps = 12;   // rows; of more steps some are omitted
constexpr size_t kMostPlaces = 10;  // growing ones

// Evenly spread, with the first and the last.
std::vector<size_t> some_of(size_t steps) {
  std::vector<size_t> shown;
  const size_t rows = std::min(steps, kMostSteps);
  for (size_t i = 0; i < rows; ++i) {
    shown.push_back(rows == 1 ? 0 : i * (steps - 1) / (rows - 1));
  }
  return shown;
}

// Allocated bytes depend on which cached block is given out, requested bytes do not.
std::string verdict(const std::vector<MemoryBytes>& after) {
  const int64_t growth = after.back().requested - after.front().requested;
  if (growth == 0) return "Nothing grows: the last step ends with as many live bytes as the first.";
  if (growth < 0) {
    return "Nothing grows: the last step ends with " + format_bytes(-growth) +
           " fewer live bytes than the first.";
  }
  const auto steps = static_cast<int64_t>(after.size()) - 1;
  return "It grows: " + format_bytes(growth) + " in " + std::to_string(steps) + " steps, " +
         format_bytes(growth / steps) + " a step.";
}

Table steps_table(const std::vector<MemoryBytes>& after) {
  Table table{
      .title = "Live bytes after each measured step", .columns = {{"step", true}}, .keys = 1};
  for (const char* name :
       {"requested", "growth", "allocated", "reserved", "reserved - allocated"}) {
    add_bytes_columns(table, name);
  }
  const MemoryBytes* before = nullptr;
  for (const size_t step : some_of(after.size())) {
    const MemoryBytes& bytes = after[step];
    std::vector<std::string> row = {std::to_string(step + 1)};
    add_bytes_cells(row, bytes.requested);
    const int64_t growth = before == nullptr ? 0 : bytes.requested - before->requested;
    row.push_back(signed_bytes(growth));
    row.push_back(std::to_string(growth));
    add_bytes_cells(row, bytes.allocated);
    add_bytes_cells(row, bytes.reserved);
    add_bytes_cells(row, bytes.reserved - bytes.allocated);
    table.rows.push_back(std::move(row));
    before = &bytes;
  }
  if (after.size() > kMostSteps) {
    table.notes.push_back(std::to_string(kMostSteps) + " of " + std::to_string(after.size()) +
                          " steps; growth is since the row above.");
  }
  table.notes.push_back(verdict(after));
  return table;
}

Table growth_table(const std::vector<Growth>& growth) {
  Table table{.title = "Growth: allocations of one step that are still live two steps later",
              .columns = {{"bytes a step", true}, {"blocks", true}, {"phase"}, {"allocated at"}}};
  for (const Growth& place : growth) {
    if (table.rows.size() == kMostPlaces) break;
    const std::string where = join(place.stack, " < ");
    table.rows.push_back({format_bytes(place.bytes), std::to_string(place.count),
                          place.phase.empty() ? kNotAvailable : place.phase,
                          (place.purpose.empty() ? "" : place.purpose + ": ") + where});
  }
  if (growth.size() > kMostPlaces) {
    table.notes.push_back(std::to_string(growth.size() - kMostPlaces) + " smaller ones not shown.");
  }
  return table;
}

}  // namespace

std::vector<Table> watch_tables(const Record& record) {
  std::vector<Table> tables;
  if (!record.watched) return tables;
  if (!record.watched->after_steps.empty()) {
    tables.push_back(steps_table(record.watched->after_steps));
  }
  if (!record.watched->growth.empty()) tables.push_back(growth_table(record.watched->growth));
  return tables;
}

Table settings_table(const std::vector<Record>& records) {
  Table table{.title = "The allocator's settings, each tried", .columns = {{"--alloc-conf"}}};
  for (const char* name : {"peak allocated", "peak reserved", "reserved - allocated"}) {
    add_bytes_columns(table, name);
  }
  const Record* lowest = nullptr;
  for (const Record& record : records) {
    const std::string& conf = record.spec.alloc_conf;
    std::vector<std::string> row = {conf.empty() ? "none" : conf};
    if (record.status != Status::kOk || !record.peak) {
      for (int i = 0; i < 3; ++i) add_bytes_cells(row, std::nullopt, to_string(record.status));
    } else {
      add_bytes_cells(row, record.peak->allocated);
      add_bytes_cells(row, record.peak->reserved);
      add_bytes_cells(row, record.peak->reserved - record.peak->allocated);
      const bool lower = lowest == nullptr || record.peak->reserved < lowest->peak->reserved;
      if (lower) lowest = &record;
    }
    table.rows.push_back(std::move(row));
  }
  if (lowest == &records.front()) {
    table.notes.push_back("None of them reserves less.");
  } else if (lowest != nullptr && records.front().peak) {
    const int64_t saved = records.front().peak->reserved - lowest->peak->reserved;
    table.notes.push_back("--alloc-conf " + lowest->spec.alloc_conf + " reserves " +
                          format_bytes(saved) + " less.");
  }
  return table;
}

}  // namespace headroom
