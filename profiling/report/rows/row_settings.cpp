#include "profiling/report/rows/row_settings.h"

#include <utility>

#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {

RowSettings::RowSettings(const RecordPointers& records, std::vector<const Field*> varying,
                         std::vector<std::string> own)
    : varying_(std::move(varying)), environments_(environment_labels(records)) {
  for (const Field* field : varying_) own.push_back(field->name);
  for (const Field& field : fields()) {
    if (field.changes_result && !is_one_of(field.name, own)) exact_.push_back(&field);
  }
}

void RowSettings::add_columns(Table& table) const {
  for (const Field* field : varying_) {
    table.columns.push_back(
        {.name = field->name, .number = field->numeric(), .when_empty = "none"});
  }
  if (!environments_.empty()) table.columns.push_back({.name = "environment"});
}

void RowSettings::add_cells(std::vector<std::string>& row, const Record& record) const {
  for (const Field* field : varying_) row.push_back(setting_text(record, *field));
  if (!environments_.empty()) row.push_back(environment(record));
}

void RowSettings::add_exact_columns(Table& table) const {
  for (const Field* field : exact_) {
    table.columns.push_back({.name = field->name, .number = field->numeric(), .exact = true});
  }
  for (const char* name : {"device_name", "build"}) {
    table.columns.push_back({.name = name, .exact = true});
  }
}

void RowSettings::add_exact_cells(std::vector<std::string>& row, const Record& record) const {
  for (const Field* field : exact_) row.push_back(setting_text(record, *field));
  // libtorch calls any card cuda:0.
  const std::string hardware = is_virtual(record.spec) ? "" : hardware_name(record);
  row.push_back(hardware.empty() ? device_name(record) : hardware);
  row.push_back(environment_text(record, "build"));
}

std::string RowSettings::group(const Record& record) const {
  return group_key(record, varying_) + environment(record);
}

std::string RowSettings::environment(const Record& record) const {
  return environments_.empty() ? "" : environments_.at(&record);
}

}  // namespace headroom
