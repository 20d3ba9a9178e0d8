#include "cli/report/report_records.h"

#include <algorithm>
#include <iterator>

#include "cli/record_files.h"
#include "plan/fit/answers/command_line.h"
#include "plan/measured.h"
#include "plan/ppo/drawing.h"
#include "plan/ppo/fit_report.h"
#include "plan/ppo/report.h"
#include "profiling/report/page/records_html.h"
#include "profiling/report/ranks.h"
#include "profiling/report/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

PpoSetup setup_of(const Record& record) { return ppo_setup_from_json(record.ppo->setup.get()); }

std::string command_of_record(const Record& record) {
  if (record.ppo) return ppo_command({.shared = record.spec, .setup = setup_of(record)});
  return profile_command(record.spec);
}

// True if the setting differs between two of them.
bool varies(const std::vector<Record>& records, const char* setting) {
  const Field& field = *find_field(setting);
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return !field.same(record.spec, records.front().spec);
  });
}

bool has_residuals(const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [](const Record& record) {
    return record.residual_bytes_per_block.has_value();
  });
}

// The figures of plans are of one GPU.
Table computed_table(const std::vector<Record>& records) {
  std::vector<Record> of_one_gpu = comparable(records, nullptr);
  std::erase_if(of_one_gpu, [](const Record& record) { return !record.ranks.empty(); });
  return measured_table(of_one_gpu);
}

std::vector<Table> tables_of_runs(const std::vector<Record>& records) {
  std::vector<Table> tables = {summary_table(records)};
  if (varies(records, "context_length")) tables.push_back(peak_memory_table(records));
  if (varies(records, "precision")) tables.push_back(mixed_precision_tables(records).front());
  Table computed = computed_table(records);
  if (computed.rows.size() > 0) tables.push_back(std::move(computed));
  if (has_residuals(records)) tables.push_back(residuals_table(records));
  for (const Record& record : records) {
    for (Table& table : rank_tables(record)) {
      table.title = row_name(record.spec) + ": " + table.title;
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<Figure> figures_of_runs(const RecordPointers& records) {
  std::vector<Figure> all = peaks_by_context(records);
  for (auto* make : {&predicted_beside_measured, &techniques, &step_time_spreads}) {
    for (Figure& figure : make(records)) all.push_back(std::move(figure));
  }
  return all;
}

std::string runs_html(const std::vector<Record>& records) {
  if (records.empty()) return "";
  std::vector<std::string> notes;
  std::string html;
  for (const Figure& figure : figures_of_runs(latest_of_each(records, notes))) {
    html += to_html(figure, command_of_record);
  }
  for (const Table& table : tables_of_runs(records)) html += to_html(table);
  return html;
}

// An iteration of PPO: its phases over time, and its tables.
std::string iteration_html(const Record& record) {
  const auto computed =
      record.ppo->of_warm_up ? std::nullopt : computed_iteration(record.spec, setup_of(record));
  std::string html;
  if (const auto timeline = ppo_timeline(record, computed)) {
    const std::string title = "Memory of a PPO iteration: " + row_name(record.spec);
    const Figure figure{.title = title, .svg = svg(*timeline, title), .shown = {&record}};
    html += to_html(figure, command_of_record);
  }
  for (const Table& table : ppo_report(record, computed)) html += to_html(table);
  return html;
}

}  // namespace

std::string records_html(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  std::vector<Record> records = records_of_files(paths, Keep::kWhole).records;
  if (records.empty()) throw UsageError("no Records in " + paths.front());
  const auto first_iteration = std::stable_partition(
      records.begin(), records.end(), [](const Record& record) { return !record.ppo; });
  const std::vector<Record> iterations(std::make_move_iterator(first_iteration),
                                       std::make_move_iterator(records.end()));
  records.erase(first_iteration, records.end());
  std::string html = "<h2>Records</h2>\n" + runs_html(records);
  for (const Record& record : iterations) html += iteration_html(record);
  return html;
}

}  // namespace headroom
