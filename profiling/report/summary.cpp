// summary_table: any Records, the columns that vary.
#include <algorithm>
#include <array>
#include <utility>

#include "profiling/report/report.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/row_settings.h"
#include "profiling/report/rows/select.h"
#include "profiling/report/times/time.h"

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

std::vector<std::string> summary_row(const Record& record, const RowSettings& settings) {
  std::vector<std::string> row;
  settings.add_cells(row, record);
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
  settings.add_exact_cells(row, record);
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
  const RowSettings settings(latest, std::move(columns), {});
  settings.add_columns(table);
  table.keys = table.columns.size();
  table.columns.push_back({.name = "status"});
  add_bytes_columns(table, "peak allocated");
  add_bytes_columns(table, "peak reserved");
  table.columns.push_back({.name = "median step ms", .number = true});
  for (const char* name : kRateColumns) {
    table.columns.push_back({.name = name, .number = true, .exact = true});
  }
  table.columns.push_back({.name = "reason", .exact = true});
  settings.add_exact_columns(table);
  for (const Record* record : latest) table.rows.push_back(summary_row(*record, settings));
  add_closing_notes(table, latest, about);
  return table;
}

}  // namespace headroom
