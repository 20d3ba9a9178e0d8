// mixed_precision_tables: part c, FP32 beside autocast, and why the saving is what it is.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "profiling/report.h"
#include "profiling/report_cells.h"
#include "profiling/report_select.h"
#include "train/quantity.h"

namespace headroom {
namespace {

constexpr std::array<Precision, 2> kAutocast = {Precision::kBf16, Precision::kFp16};

// The Records of one configuration, by precision.
struct Group {
  std::string key;
  std::map<Precision, const Record*> by_precision;
  const Record& any() const { return *by_precision.begin()->second; }
  const Record* find(Precision precision) const {
    const auto it = by_precision.find(precision);
    return it == by_precision.end() ? nullptr : it->second;
  }
};

std::vector<Group> gather_groups(const RecordPointers& records) {
  std::vector<const Field*> others;
  for (const Field& field : fields()) {
    if (field.changes_result && field.name != "precision") others.push_back(&field);
  }
  std::vector<Group> groups;
  for (const Record* record : records) {
    const std::string key = group_key(*record, others);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& candidate) { return candidate.key == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{.key = key});
    group->by_precision[record->spec.precision] = record;
  }
  return groups;
}

std::string upper(Precision precision) {
  std::string text = to_string(precision);
  for (char& c : text) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return text;
}

// The bytes of the categories whose name contains `word`.
int64_t bytes_of(const Record& record, const std::string& word) {
  int64_t bytes = 0;
  for (const auto& [name, size] : record.categories_at_peak) {
    if (name.find(word) != std::string::npos) bytes += size;
  }
  return bytes;
}

std::string from_to(const Record& before, const Record& after, const std::string& word) {
  const int64_t from = bytes_of(before, word), to = bytes_of(after, word);
  return format_bytes(from) + " to " + format_bytes(to) + " (" + signed_bytes(to - from) + ")";
}

// Sentences whose numbers are the categories at the two peaks.
void explain(const Record& fp32, const Record& autocast, std::vector<std::string>& notes) {
  const std::string name = upper(autocast.spec.precision);
  if (fp32.categories_at_peak.empty() || autocast.categories_at_peak.empty()) {
    notes.push_back("No breakdown at the peak was recorded (--record-steps 0).");
    return;
  }
  int64_t total = 0;
  for (const auto& category : fp32.categories_at_peak) total += category.second;
  const int64_t state = bytes_of(autocast, "optimizer");
  const int64_t gradients = bytes_of(autocast, "gradient");
  const int64_t fixed = bytes_of(autocast, "parameter") + gradients + state;
  std::string what = state > 0       ? "Parameters, gradients and optimizer state"
                     : gradients > 0 ? "Parameters and gradients"
                                     : "Parameters";
  notes.push_back(what + " stay in FP32 under autocast: " + format_bytes(fixed) + ", " +
                  percent(fixed, total) + " of the FP32 peak, that " + name + " cannot shrink" +
                  (state > 0 ? " (optimizer state alone " + format_bytes(state) + ")." : "."));
  if (const int64_t cast = bytes_of(autocast, "cast"); cast > 0) {
    notes.push_back("The cast cache, " + name + " copies of the weights, adds " +
                    format_bytes(cast) + " at the peak that FP32 does not have.");
  }
  if (bytes_of(fp32, "activation") + bytes_of(autocast, "activation") > 0) {
    notes.push_back("Activations saved for backward go from " +
                    from_to(fp32, autocast, "activation") +
                    ": only the tensors that autocast computes in " + name + " halve.");
  }
  if (bytes_of(fp32, "temporar") + bytes_of(autocast, "temporar") > 0) {
    notes.push_back("Temporaries go from " + from_to(fp32, autocast, "temporar") + ".");
  }
}

Table breakdown_table(const Record& fp32, const Record& autocast) {
  const std::string name = upper(autocast.spec.precision);
  Table table{.title = "At the peak, FP32 and " + name + ": " + to_string(fp32.spec.mode) +
                       ", context " + std::to_string(fp32.spec.context_length) + ", " +
                       fp32.spec.model_size,
              .columns = {{"category"}}};
  add_bytes_columns(table, "FP32");
  add_bytes_columns(table, name);
  add_bytes_columns(table, "difference");
  std::set<std::string> names;
  for (const Record* record : {&fp32, &autocast}) {
    for (const auto& category : record->categories_at_peak) names.insert(category.first);
  }
  const auto add = [&](const std::string& category, int64_t before, int64_t after) {
    std::vector<std::string> row = {category};
    add_bytes_cells(row, before);
    add_bytes_cells(row, after);
    row.insert(row.end(), {signed_bytes(after - before), std::to_string(after - before)});
    table.rows.push_back(std::move(row));
  };
  const auto of = [](const Record& record, const std::string& category) {
    const auto it = record.categories_at_peak.find(category);
    return it == record.categories_at_peak.end() ? int64_t{0} : it->second;
  };
  int64_t sum_before = 0, sum_after = 0;
  for (const auto& category : names) {
    add(readable(category), of(fp32, category), of(autocast, category));
    sum_before += of(fp32, category);
    sum_after += of(autocast, category);
  }
  add("sum", sum_before, sum_after);
  explain(fp32, autocast, table.notes);
  return table;
}

void add_precision_cells(std::vector<std::string>& row, const Record* record) {
  if (record == nullptr) {
    add_bytes_cells(row, std::nullopt, "not run");
    row.emplace_back("not run");
  } else {
    add_bytes_cells(row, peak_allocated(*record), status_or_not_available(*record));
    row.push_back(to_string(record->status));
  }
}

void add_difference_cells(std::vector<std::string>& row, const Record* fp32, const Record* other) {
  const auto from = fp32 != nullptr ? peak_allocated(*fp32) : std::nullopt;
  const auto to = other != nullptr ? peak_allocated(*other) : std::nullopt;
  if (!from || !to) {
    row.insert(row.end(), {kNotAvailable, kNotAvailable, kNotAvailable});
    return;
  }
  row.insert(row.end(), {signed_bytes(*to - *from), std::to_string(*to - *from),
                         signed_percent(*to - *from, *from)});
}

void add_precision_columns(Table& table, const std::string& name) {
  add_bytes_columns(table, name + " peak");
  table.columns.push_back({.name = name + "_status", .exact = true});
}

}  // namespace

std::vector<Table> mixed_precision_tables(const std::vector<Record>& records) {
  Table table{.title = "Peak memory, FP32 and mixed precision"};
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  const auto varying = varying_fields(latest, {"profile_type", "context_length", "precision"});
  std::vector<Precision> others;
  for (const Precision precision : kAutocast) {
    // BF16 is what the table is about: its column is there even when nothing was run.
    if (precision == Precision::kBf16 ||
        std::any_of(latest.begin(), latest.end(),
                    [&](const Record* record) { return record->spec.precision == precision; })) {
      others.push_back(precision);
    }
  }
  table.columns = {{.name = "mode"}, {.name = "context length", .number = true}};
  for (const Field* field : varying) {
    table.columns.push_back({.name = field->name, .number = field->numeric});
  }
  add_precision_columns(table, "FP32");
  for (const Precision precision : others) {
    add_precision_columns(table, upper(precision));
    add_bytes_columns(table, upper(precision) + " - FP32");
    table.columns.push_back({.name = upper(precision) + " - FP32 %", .number = true});
  }
  std::vector<Table> tables(1);
  for (const Group& group : gather_groups(latest)) {
    const RunSpec& spec = group.any().spec;
    const Record* fp32 = group.find(Precision::kFp32);
    std::vector<std::string> row = {to_string(spec.mode), std::to_string(spec.context_length)};
    for (const Field* field : varying) row.push_back(field->get(spec));
    add_precision_cells(row, fp32);
    for (const Precision precision : others) {
      const Record* other = group.find(precision);
      add_precision_cells(row, other);
      add_difference_cells(row, fp32, other);
      if (fp32 != nullptr && other != nullptr && peak_allocated(*fp32) && peak_allocated(*other)) {
        tables.push_back(breakdown_table(*fp32, *other));
      }
    }
    table.rows.push_back(std::move(row));
  }
  table.notes = {"All rows: " + common_settings(latest) + ".", kUnitsNote};
  for (const Record* record : latest) {
    if (record->status != Status::kOk) table.notes.push_back(failure_note(*record));
  }
  table.notes.insert(table.notes.end(), about.begin(), about.end());
  tables.front() = std::move(table);
  return tables;
}

}  // namespace headroom
