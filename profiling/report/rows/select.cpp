#include "profiling/report/rows/select.h"

#include <algorithm>
#include <set>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/places.h"
#include "text/words.h"

namespace headroom {
namespace {

// A named size with a changed dimension is not that size.
bool is_of_other_fields(const Field& field) { return field.name == "model_size"; }

std::string compared(const Record& record, const Field& field) {
  return is_of_other_fields(field) ? setting_text(record, field) : field.get(record.spec);
}

bool same(const Record& a, const Record& b, const Field& field) {
  return is_of_other_fields(field) ? compared(a, field) == compared(b, field)
                                   : field.same(a.spec, b.spec);
}

// The settings that change a result and that vary between Records, or that do not. Goes Record by
// Record, to save memory.
std::vector<const Field*> fields_that(bool vary, const RecordPointers& records) {
  std::vector<const Field*> equal;
  std::vector<const Field*> varying;
  for (const Field& field : fields()) {
    if (field.changes_result) equal.push_back(&field);
  }
  for (const Record* record : records) {
    std::erase_if(equal, [&](const Field* field) {
      if (same(*record, *records.front(), *field)) return false;
      varying.push_back(field);
      return true;
    });
  }
  std::sort(varying.begin(), varying.end());  // fields() is one array: its order
  return vary ? varying : equal;
}

// A sweep stores the identity of the program that ran the cell. "" = unknown.
std::string build_of(const Record& record) {
  const auto build = "/identity/build"_json_pointer;
  return record.environment.contains(build) ? record.environment[build].dump() : "";
}

// A newer result replaces an older one of the same configuration, even of another build. The note
// reports it.
void note_replaced(const RecordPointers& replaced, const std::vector<size_t>& places,
                   const RecordPointers& latest, std::vector<std::string>& notes) {
  if (replaced.empty()) return;
  size_t of_other_builds = 0;
  for (size_t i = 0; i < replaced.size(); ++i) {
    of_other_builds += build_of(*replaced[i]) == build_of(*latest[places[i]]) ? 0 : 1;
  }
  std::string note = "Not shown: " + std::to_string(replaced.size()) +
                     " earlier result(s) of the same configurations";
  if (of_other_builds > 0) {
    note += ", " + std::to_string(of_other_builds) + " of them by another build of headroom";
  }
  notes.push_back(note + ".");
}

void note_differences(const RecordPointers& records, std::vector<std::string>& notes) {
  std::set<std::string> devices, builds;
  for (const Record* record : records) {
    if (record->status == Status::kOk) devices.insert(device_name(*record));
    if (const std::string build = build_of(*record); !build.empty()) builds.insert(build);
  }
  if (devices.size() > 1) {
    notes.push_back(
        "These are results of different devices: " + join({devices.begin(), devices.end()}) + ".");
  }
  if (builds.size() > 1) {
    notes.push_back("These are results of " + std::to_string(builds.size()) +
                    " different builds of headroom.");
  }
}

// "model_size small, batch_size 4, ..., device cpu": settings that all Records share. A setting at
// its default is named only if it is one that identifies a run.
std::string common_settings(const RecordPointers& records) {
  const RunSpec defaults;
  if (records.empty()) return "";
  std::vector<std::string> settings;
  for (const Field* field : fields_that(/*vary=*/false, records)) {
    if (field->name == "device") continue;
    const std::string value = compared(*records.front(), *field);
    if (value == field->get(defaults) && !field->stated) continue;
    settings.push_back(field->name + " " + value);
  }
  const std::string device = device_name(*records.front());
  const bool one_device = std::all_of(records.begin(), records.end(), [&](const Record* record) {
    return device_name(*record) == device;
  });
  if (one_device) settings.push_back("device " + device);
  return join(settings);
}

// "small_ctx512_training_fp32: oom: tried to allocate 2 GiB". Keeps the figures of libtorch's own
// text; its advice on settings stays in the Record.
std::string failure_note(const Record& record) {
  const std::string reason =
      record.reason.substr(0, record.reason.find(" Of the allocated memory"));
  return row_name(record.spec) + ": " + to_string(record.status) +
         (reason.empty() ? "" : ": " + reason);
}

}  // namespace

RecordPointers latest_of_each(const std::vector<Record>& records, std::vector<std::string>& notes) {
  RecordPointers latest;
  PlacesOfConfigurations places(records.size());
  std::vector<const Record*> replaced;  // with their places
  std::vector<size_t> replaced_at;
  for (const Record& record : records) {
    const size_t place = places.place_of(record);
    if (place == latest.size()) {
      latest.push_back(&record);
      continue;
    }
    replaced.push_back(std::exchange(latest[place], &record));
    replaced_at.push_back(place);
  }
  note_replaced(replaced, replaced_at, latest, notes);
  note_differences(latest, notes);
  return latest;
}

std::vector<const Field*> varying_fields(const RecordPointers& records,
                                         const std::vector<std::string>& shown) {
  std::vector<const Field*> varying;
  for (const Field* field : fields_that(/*vary=*/true, records)) {
    if (!is_one_of(field->name, shown)) varying.push_back(field);
  }
  return varying;
}

std::string group_key(const Record& record, const std::vector<const Field*>& fields) {
  std::string key;
  for (const Field* field : fields) key += field->get(record.spec) + '\n';
  return key;
}

void add_closing_notes(Table& table, const RecordPointers& shown,
                       const std::vector<std::string>& about) {
  table.notes.push_back("All rows: " + common_settings(shown) + ".");
  table.notes.emplace_back(kUnitsNote);
  for (const Record* record : shown) {
    if (record->status != Status::kOk) table.notes.push_back(failure_note(*record));
  }
  table.notes.insert(table.notes.end(), about.begin(), about.end());
}

}  // namespace headroom
