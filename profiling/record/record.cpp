#include "profiling/record/record.h"

#include <array>
#include <cmath>
#include <concepts>
#include <stdexcept>
#include <utility>

#include "profiling/record/record_fields.h"
#include "text/json_line.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<Status, const char*>, 8> kStatusWords = {
    {{Status::kOk, "ok"},
     {Status::kOom, "oom"},
     {Status::kUnsupported, "unsupported"},
     {Status::kUsage, "usage"},
     {Status::kUnwritable, "unwritable"},
     {Status::kFailed, "failed"},
     {Status::kKilled, "killed"},
     {Status::kTimeout, "timeout"}}};

template <typename Value>
bool is_empty(const Value& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (requires { !value; }) {
    return !value;
  } else {
    return false;
  }
}

template <typename Value>
json json_of(const Value& value);

template <HasFields Struct>
void write_fields(json& object, const Struct& from, const std::string& prefix = "");

// Puts the keys of a struct into its owner's object.
template <HasFields Struct>
void write_beside(json& object, const Struct& from, When, const std::string& prefix) {
  write_fields(object, from, prefix);
}
template <HasFields Struct>
void write_beside(json& object, const std::optional<Struct>& from, When when,
                  const std::string& prefix) {
  if (from) return write_fields(object, *from, prefix);
  if (when == When::kNotEmpty) return;
  for_each_field<Struct>([&](const auto& field) { object[prefix + field.key] = nullptr; });
}

template <HasFields Struct>
void write_fields(json& object, const Struct& from, const std::string& prefix) {
  for_each_field<Struct>([&](const auto& field) {
    const auto& value = from.*field.member;
    if constexpr (requires { write_beside(object, value, field.when, prefix); }) {
      if (field.is_beside()) {
        return write_beside(object, value, field.when, prefix + field.prefix);
      }
    }
    if (field.when == When::kNotEmpty && is_empty(value)) return;
    object[prefix + field.key] = json_of(value);
  });
}

// JSON has no NaN or infinity: they become null.
template <typename Value>
json json_of(const Value& value) {
  if constexpr (HasFields<Value>) {
    json object = json::object();
    write_fields(object, value);
    return object;
  } else if constexpr (std::same_as<Value, double>) {
    return std::isfinite(value) ? json(value) : json(nullptr);
  } else if constexpr (std::same_as<Value, Status> || std::same_as<Value, MemorySpace>) {
    return to_string(value);
  } else if constexpr (std::same_as<Value, RunSpec>) {
    return to_json(value);
  } else if constexpr (std::same_as<Value, SharedJson>) {
    return value.get();
  } else if constexpr (MayBeAbsent<Value>) {
    return value ? json_of(*value) : json(nullptr);
  } else if constexpr (kIsNamed<Value>) {
    json object = json::object();
    for (const auto& [name, inner] : value) object[name.text()] = json_of(inner);
    return object;
  } else if constexpr (Sequence<Value> && !std::same_as<Value, std::string>) {
    json list = json::array();
    for (const auto& item : value) list.push_back(json_of(item));
    return list;
  } else {
    return value;
  }
}

}  // namespace

std::string to_string(Status status) {
  for (const auto& [known, word] : kStatusWords) {
    if (known == status) return word;
  }
  return "failed";
}

Status status_from_string(const std::string& word) {
  for (const auto& [status, known] : kStatusWords) {
    if (word == known) return status;
  }
  throw std::invalid_argument("unknown status '" + word + "'");
}

json to_json(const Record& record) {
  json object = {{"schema_version", Record::kSchemaVersion},
                 {"name", row_name(record.spec)},
                 {"environment", record.environment.get()}};
  write_fields(object, record);
  return object;
}

std::string fullest_phase(const Record& record, int64_t MemoryBytes::*quantity) {
  std::string fullest;
  int64_t most = -1;
  for (const std::string& name : record.phase_order) {
    const auto it = record.phases.find(name);
    if (it == record.phases.end() || it->second.*quantity <= most) continue;
    most = it->second.*quantity;
    fullest = name;
  }
  return fullest;
}

std::string to_json_line(const Record& record) { return json_line(to_json(record)); }

}  // namespace headroom
