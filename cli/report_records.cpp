#include "cli/report_records.h"

#include <algorithm>

#include "cli/record_files.h"
#include "plan/fit/answers/command_line.h"
#include "plan/measured.h"
#include "profiling/report/page/records_html.h"
#include "profiling/report/ranks.h"
#include "profiling/report/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

std::string command_of(const Record& record) { return profile_command(record.spec); }

bool has_several_contexts(const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.spec.context_length != records.front().spec.context_length;
  });
}

bool has_residuals(const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [](const Record& record) {
    return record.residual_bytes_per_block.has_value();
  });
}

// Both precisions of some run.
bool has_precisions(const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.spec.precision != records.front().spec.precision;
  });
}

std::vector<Table> tables_of(const std::vector<Record>& records) {
  std::vector<Table> tables = {summary_table(records)};
  if (has_several_contexts(records)) tables.push_back(peak_memory_table(records));
  if (has_precisions(records)) tables.push_back(mixed_precision_tables(records).front());
  Table measured = measured_table(comparable(records, nullptr));
  if (measured.rows.size() > 0) tables.push_back(std::move(measured));
  if (has_residuals(records)) tables.push_back(residuals_table(records));
  for (const Record& record : records) {
    for (Table& table : rank_tables(record)) {
      table.title = row_name(record.spec) + ": " + table.title;
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<Figure> figures_of(const RecordPointers& records) {
  std::vector<Figure> all = peaks_by_context(records);
  for (auto* make : {&predicted_beside_measured, &techniques}) {
    for (Figure& figure : make(records)) all.push_back(std::move(figure));
  }
  return all;
}

}  // namespace

std::string records_html(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  const LatestRecords read = records_of_files(paths);
  if (read.records.empty()) throw UsageError("no Records in " + paths.front());
  std::vector<std::string> notes;
  const std::vector<Figure> figures = figures_of(latest_of_each(read.records, notes));
  std::string html = figures.empty() ? "" : "<h2>Figures</h2>\n";
  for (const Figure& figure : figures) html += to_html(figure, command_of);
  for (const Table& table : tables_of(read.records)) html += to_html(table);
  return html;
}

}  // namespace headroom
