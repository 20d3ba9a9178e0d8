// summary_table: any Records, the columns that vary.
#include <algorithm>
#include <array>

#include "profiling/report/cells.h"
#include "profiling/report/environments.h"
#include "profiling/report/report.h"
#include "profiling/report/select.h"
#include "profiling/report/time.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 4> kRateColumns = {"p90_step_ms", "tokens_per_second",
                                                     "tflops_per_second", "mfu"};

// For programs: the page has the median.
void add_rate_cells(std::vector<std::string>& row, const Record& record,
                    const std::optional<StepTimes>& times) {
  if (!times || times->median_ms <= 0) {
    row.insert(row.end(), kRateColumns.size(), kNotAvailable);
    return;
  }
  const StepRates rates = step_rates(record, times->median_ms);
  row.push_back(number_text(times->p90_ms, 3));
  row.push_back(number_text(rates.tokens_per_second, 1));
  row.push_back(number_text(rates.flops_per_second / 1e12, 3));
  row.push_back(rates.mfu ? number_text(*rates.mfu, 4) : kNotAvailable);
}

std::vector<std::string> names_of(const std::vector<const Field*>& columns) {
  std::vector<std::string> names;
  for (const Field* field : columns) names.push_back(field->name);
  return names;
}

std::vector<std::string> summary_row(const Record& record, const std::vector<const Field*>& columns,
                                     const EnvironmentLabels& labels) {
  std::vector<std::string> row;
  for (const Field* field : columns) {
    row.push_back(setting_text(record, *field));
  }
  if (!labels.empty()) row.push_back(labels.at(&record));
  row.push_back(to_string(record.status));
  const std::string otherwise = status_or_not_available(record);
  const bool has_peak = record.status == Status::kOk && record.peak.has_value();
  add_bytes_cells(row, peak_allocated(record), otherwise);
  add_bytes_cells(row, has_peak ? std::optional(record.peak->reserved) : std::nullopt, otherwise);
  const auto times = step_times(record.step_ms);
  const bool has_time = record.status == Status::kOk && times.has_value();
  row.push_back(has_time ? number_text(times->median_ms, 3) : otherwise);
  add_rate_cells(row, record, has_time ? times : std::nullopt);
  row.push_back(record.reason);
  add_setting_cells(row, record, names_of(columns));
  return row;
}

}  // namespace

Table summary_table(const std::vector<Record>& records) {
  Table table{.title = "Summary"};
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  // The mode is always shown: "forward" and "forward-grad" differ threefold.
  std::vector<const Field*> columns = {find_field("profile_type")};
  for (const Field* field : varying_fields(latest, {"profile_type"})) columns.push_back(field);
  std::sort(columns.begin(), columns.end());  // fields() is one array: its order
  for (const Field* field : columns) {
    table.columns.push_back(
        {.name = field->name, .number = field->numeric(), .when_empty = "none"});
  }
  const EnvironmentLabels labels = environment_labels(latest);
  if (!labels.empty()) table.columns.push_back({.name = "environment"});
  table.keys = table.columns.size();
  table.columns.push_back({.name = "status"});
  add_bytes_columns(table, "peak allocated");
  add_bytes_columns(table, "peak reserved");
  table.columns.push_back({.name = "median step ms", .number = true});
  for (const char* name : kRateColumns) {
    table.columns.push_back({.name = name, .number = true, .exact = true});
  }
  table.columns.push_back({.name = "reason", .exact = true});
  add_setting_columns(table, names_of(columns));
  for (const Record* record : latest) table.rows.push_back(summary_row(*record, columns, labels));
  add_closing_notes(table, latest, about);
  return table;
}

}  // namespace headroom
