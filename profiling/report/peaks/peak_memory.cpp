// peak_memory_table: part b, one row per context length, one column per mode.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "profiling/report/peaks/falling_peak.h"
#include "profiling/report/report.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/row_settings.h"
#include "profiling/report/rows/select.h"

namespace headroom {
namespace {

constexpr std::array<Mode, 4> kModes = {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward,
                                        Mode::kTraining};

// One row of the table: the Records of one configuration and context length, by mode.
struct Row {
  std::array<const Record*, kModes.size()> by_mode{};
  const Record*& of(Mode mode) { return by_mode.at(static_cast<size_t>(mode)); }
  const Record* of(Mode mode) const { return by_mode.at(static_cast<size_t>(mode)); }
  const Record& any() const {
    const auto is_there = [](const Record* record) { return record != nullptr; };
    return **std::find_if(by_mode.begin(), by_mode.end(), is_there);
  }
};

// By group (in order of appearance) and context length.
std::map<std::pair<size_t, int64_t>, Row> gather_rows(const RecordPointers& records,
                                                      const RowSettings& settings) {
  std::unordered_map<std::string, size_t> groups;
  std::map<std::pair<size_t, int64_t>, Row> rows;
  for (const Record* record : records) {
    const size_t group = groups.try_emplace(settings.group(*record), groups.size()).first->second;
    rows[{group, record->spec.context_length}].of(record->spec.profile_type) = record;
  }
  return rows;
}

std::vector<Mode> modes_present(const RecordPointers& records) {
  std::vector<Mode> present;
  for (const Mode mode : kModes) {
    if (std::any_of(records.begin(), records.end(),
                    [&](const Record* record) { return record->spec.profile_type == mode; })) {
      present.push_back(mode);
    }
  }
  return present;
}

void add_mode_cells(std::vector<std::string>& cells, const Row& row, Mode mode) {
  if (row.of(mode) == nullptr) {
    add_bytes_cells(cells, std::nullopt, "not run");
    cells.insert(cells.end(), {"not run", "no Record of this configuration"});
    return;
  }
  const Record& record = *row.of(mode);
  add_bytes_cells(cells, peak_allocated(record), status_or_not_available(record));
  cells.push_back(to_string(record.status));
  cells.push_back(record.reason);
}

}  // namespace

Table peak_memory_table(const std::vector<Record>& records) {
  Table table{.title = "Peak memory by context length"};
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  const std::vector<std::string> own = {"context_length", "profile_type"};
  const RowSettings settings(latest, varying_fields(latest, own), own);
  const auto modes = modes_present(latest);
  settings.add_columns(table);
  table.columns.push_back({.name = "context length", .number = true});
  table.keys = table.columns.size();
  for (const Mode mode : modes) {
    add_bytes_columns(table, to_string(mode) + " peak");
    table.columns.push_back({.name = to_string(mode) + "_status", .exact = true});
    table.columns.push_back({.name = to_string(mode) + "_reason", .exact = true});
  }
  settings.add_exact_columns(table);
  for (const auto& [place, row] : gather_rows(latest, settings)) {
    std::vector<std::string> cells;
    cells.reserve(table.columns.size());
    settings.add_cells(cells, row.any());
    cells.push_back(std::to_string(row.any().spec.context_length));
    for (const Mode mode : modes) add_mode_cells(cells, row, mode);
    settings.add_exact_cells(cells, row.any());
    table.rows.push_back(std::move(cells));
  }
  for (const Mode mode : modes) table.notes.push_back(in_words(mode) + ".");
  table.notes.push_back("Peak = most bytes allocated at one instant of the measured steps.");
  for (std::string& note : falling_peak_notes(latest, settings)) {
    table.notes.push_back(std::move(note));
  }
  add_closing_notes(table, latest, about);
  return table;
}

}  // namespace headroom
