// mixed_precision_tables: part c, FP32 beside autocast. breakdown.cpp explains the saving.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "profiling/report/peaks/breakdown.h"
#include "profiling/report/report.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/row_settings.h"
#include "profiling/report/rows/select.h"

namespace headroom {
namespace {

// The Records of one configuration, by precision.
struct Group {
  std::map<Precision, const Record*> by_precision;
  const Record& any() const { return *by_precision.begin()->second; }
  const RunSpec& spec() const { return any().spec; }
  const Record* find(Precision precision) const {
    const auto it = by_precision.find(precision);
    return it == by_precision.end() ? nullptr : it->second;
  }
};

std::vector<Group> gather_groups(const RecordPointers& records, const RowSettings& settings) {
  std::vector<const Field*> others;
  for (const Field& field : fields()) {
    if (field.changes_result && field.name != "precision") others.push_back(&field);
  }
  std::vector<Group> groups;
  std::unordered_map<std::string, size_t> places;  // of the groups
  for (const Record* record : records) {
    const std::string key = group_key(*record, others) + settings.environment(*record);
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].by_precision[record->spec.precision] = record;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.spec().profile_type, a.spec().context_length) <
           std::pair(b.spec().profile_type, b.spec().context_length);
  });
  return groups;
}

// The table is about BF16: its column is there even if no BF16 run is.
std::vector<Precision> autocast_columns(const RecordPointers& records) {
  std::vector<Precision> columns = {Precision::kBf16};
  for (const Precision precision : {Precision::kFp16, Precision::kFp8}) {
    const bool was_run = std::any_of(records.begin(), records.end(), [&](const Record* record) {
      return record->spec.precision == precision;
    });
    if (was_run) columns.push_back(precision);
  }
  return columns;
}

// Categories of all Records. The comparison has them as exact columns, for programs.
std::vector<std::string> all_categories(const RecordPointers& records) {
  std::set<std::string> names;
  for (const Record* record : records) {
    for (const auto& category : record->categories_at_peak) names.insert(category.first);
  }
  return {names.begin(), names.end()};
}

class Comparison {
 public:
  Comparison(const RecordPointers& records, const RowSettings& settings)
      : settings_(settings),
        others_(autocast_columns(records)),
        categories_(all_categories(records)) {}

  Table table() const {
    Table table{.title = "Peak memory, FP32 and mixed precision",
                .columns = {{.name = "mode"}, {.name = "context length", .number = true}}};
    settings_.add_columns(table);
    table.keys = table.columns.size();
    add_precision_columns(table, Precision::kFp32);
    for (const Precision precision : others_) {
      add_precision_columns(table, precision);
      add_bytes_columns(table, upper_word(precision) + " - FP32");
      table.columns.push_back({.name = upper_word(precision) + " change", .number = true});
    }
    settings_.add_exact_columns(table);
    return table;
  }

  std::vector<std::string> row(const Group& group) const {
    std::vector<std::string> row = {to_string(group.spec().profile_type),
                                    std::to_string(group.spec().context_length)};
    settings_.add_cells(row, group.any());
    const Record* fp32 = group.find(Precision::kFp32);
    add_precision_cells(row, fp32);
    for (const Precision precision : others_) {
      const Record* other = group.find(precision);
      add_precision_cells(row, other);
      add_difference_cells(row, fp32, other);
    }
    settings_.add_exact_cells(row, group.any());
    return row;
  }

  const std::vector<Precision>& others() const { return others_; }

 private:
  void add_precision_columns(Table& table, Precision precision) const {
    const std::string name = upper_word(precision);
    add_bytes_columns(table, name + " peak");
    table.columns.push_back({.name = name + "_status", .exact = true});
    for (const auto& category : categories_) {
      std::string column = name;
      column.append("_").append(category).append("_bytes");
      std::replace(column.begin(), column.end(), ' ', '_');
      table.columns.push_back({.name = column, .number = true, .exact = true});
    }
  }

  void add_precision_cells(std::vector<std::string>& row, const Record* record) const {
    add_bytes_cells(row, record != nullptr ? peak_allocated(*record) : std::nullopt,
                    record != nullptr ? status_or_not_available(*record) : "not run");
    row.push_back(record != nullptr ? to_string(record->status) : "not run");
    for (const auto& category : categories_) {
      const bool known = record != nullptr && record->categories_at_peak.contains(category);
      row.push_back(known ? std::to_string(record->categories_at_peak.at(category))
                          : kNotAvailable);
    }
  }

  static void add_difference_cells(std::vector<std::string>& row, const Record* fp32,
                                   const Record* other) {
    const auto from = fp32 != nullptr ? peak_allocated(*fp32) : std::nullopt;
    const auto to = other != nullptr ? peak_allocated(*other) : std::nullopt;
    if (!from || !to) {
      row.insert(row.end(), 3, kNotAvailable);
      return;
    }
    row.insert(row.end(), {signed_bytes(*to - *from), std::to_string(*to - *from),
                           signed_percent(*to - *from, *from)});
  }

  const RowSettings& settings_;
  std::vector<Precision> others_;
  std::vector<std::string> categories_;
};

}  // namespace

std::vector<Table> mixed_precision_tables(const std::vector<Record>& records) {
  std::vector<std::string> about;
  RecordPointers latest = latest_of_each(records, about);
  const auto tf32 = std::erase_if(
      latest, [](const Record* record) { return record->spec.precision == Precision::kTf32; });
  if (tf32 > 0) about.push_back("Not shown: " + std::to_string(tf32) + " TF32 result(s).");
  const auto low = std::erase_if(
      latest, [](const Record* record) { return record->spec.weights != WeightType::kFp32; });
  if (low > 0) {
    about.push_back("Not shown: " + std::to_string(low) + " result(s) of BF16 weights.");
  }

  const std::vector<std::string> own = {"profile_type", "context_length", "precision"};
  const RowSettings settings(latest, varying_fields(latest, own), own);
  const Comparison comparison(latest, settings);
  std::vector<Table> tables = {comparison.table()};
  for (const Group& group : gather_groups(latest, settings)) {
    tables.front().rows.push_back(comparison.row(group));
    const Record* fp32 = group.find(Precision::kFp32);
    for (const Precision precision : comparison.others()) {
      const Record* other = group.find(precision);
      const bool both =
          fp32 != nullptr && other != nullptr && peak_allocated(*fp32) && peak_allocated(*other);
      if (both) tables.push_back(breakdown_table(*fp32, *other));
    }
  }
  add_closing_notes(tables.front(), latest, about);
  return tables;
}

}  // namespace headroom
