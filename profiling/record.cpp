#include "profiling/record.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

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

json bytes_to_json(const MemoryBytes& bytes) {
  return {{"allocated_bytes", bytes.allocated},
          {"reserved_bytes", bytes.reserved},
          {"requested_bytes", bytes.requested}};
}

MemoryBytes bytes_from_json(const json& object) {
  return {object.value("allocated_bytes", int64_t{0}), object.value("reserved_bytes", int64_t{0}),
          object.value("requested_bytes", int64_t{0})};
}

json phases_to_json(const std::map<std::string, MemoryBytes>& phases) {
  json object = json::object();
  for (const auto& [name, bytes] : phases) object[name] = bytes_to_json(bytes);
  return object;
}

std::map<std::string, MemoryBytes> phases_from_json(const json& object) {
  std::map<std::string, MemoryBytes> phases;
  const json found = object.value("phases", json::object());
  for (const auto& [name, bytes] : found.items()) {
    phases[name] = bytes_from_json(bytes);
  }
  return phases;
}

// The keys of a Record's own figures.
json to_json(const SpaceFigures& space) {
  return {{"peak_allocated_bytes", space.peak.allocated},
          {"peak_reserved_bytes", space.peak.reserved},
          {"peak_requested_bytes", space.peak.requested},
          {"phases", phases_to_json(space.phases)},
          {"categories_at_peak_bytes", space.categories_at_peak}};
}

SpaceFigures space_from_json(const json& object) {
  return {.peak = {object.value("peak_allocated_bytes", int64_t{0}),
                   object.value("peak_reserved_bytes", int64_t{0}),
                   object.value("peak_requested_bytes", int64_t{0})},
          .phases = phases_from_json(object),
          .categories_at_peak =
              object.value("categories_at_peak_bytes", std::map<std::string, int64_t>{})};
}

void spaces_from_json(const json& object, Record& record) {
  // Version 1 does not say it: it knew one memory, the device's.
  const json& facts = record.environment.is_object() ? record.environment : object.at("spec");
  const bool on_host = facts.value("device", "") == "cpu";
  const std::string space = object.value("space", on_host ? "host" : "device");
  record.space = parse_word<MemorySpace>("space", space);
  const json spaces = object.value("spaces", json::object());
  for (const auto& [name, figures] : spaces.items()) {
    record.spaces[name] = space_from_json(figures);
  }
}

std::vector<BlockResidual> blocks_from_json(const json& object) {
  std::vector<BlockResidual> blocks;
  const json found = object.value("residual_blocks", json::array());
  for (const json& block : found) {
    blocks.push_back({block.value("index", int64_t{0}), block.value("bytes", int64_t{0}),
                      block.value("tensors", int64_t{0})});
  }
  return blocks;
}

json to_json(const OutOfMemory& moment) {
  json object = {{"during", moment.during}, {"phase", moment.phase}, {"memory", moment.memory}};
  if (!moment.refusal) return object;
  const Refusal& refusal = *moment.refusal;
  object.update(bytes_to_json(refusal.live));
  object.update({{"tried_bytes", refusal.tried},
                 {"free_bytes", refusal.free},
                 {"total_bytes", refusal.total}});
  return object;
}

std::optional<OutOfMemory> out_of_memory_from_json(const json& object) {
  const auto found = object.find("out_of_memory");
  if (found == object.end() || !found->is_object()) return std::nullopt;
  OutOfMemory moment{.during = found->value("during", ""),
                     .phase = found->value("phase", ""),
                     .memory = found->value("memory", "")};
  if (found->contains("tried_bytes")) {
    moment.refusal = Refusal{.tried = found->value("tried_bytes", int64_t{0}),
                             .live = bytes_from_json(*found),
                             .free = found->value("free_bytes", int64_t{0}),
                             .total = found->value("total_bytes", int64_t{0})};
  }
  return moment;
}

json to_json(const Watched& watched) {
  json object = {{"after_steps", json::array()}, {"growth", json::array()}};
  for (const MemoryBytes& bytes : watched.after_steps) {
    object["after_steps"].push_back(bytes_to_json(bytes));
  }
  for (const Growth& place : watched.growth) {
    object["growth"].push_back({{"bytes", place.bytes},
                                {"count", place.count},
                                {"phase", place.phase},
                                {"purpose", place.purpose},
                                {"stack", place.stack}});
  }
  return object;
}

std::optional<Watched> watched_from_json(const json& object) {
  const auto found = object.find("watched");
  if (found == object.end() || !found->is_object()) return std::nullopt;
  Watched watched;
  for (const json& bytes : found->value("after_steps", json::array())) {
    watched.after_steps.push_back(bytes_from_json(bytes));
  }
  for (const json& place : found->value("growth", json::array())) {
    watched.growth.push_back({.bytes = place.value("bytes", int64_t{0}),
                              .count = place.value("count", int64_t{0}),
                              .phase = place.value("phase", ""),
                              .purpose = place.value("purpose", ""),
                              .stack = place.value("stack", std::vector<std::string>{})});
  }
  return watched;
}

// JSON has no NaN or infinity: they become null.
json finite_numbers(const std::vector<double>& numbers) {
  json array = json::array();
  for (const double number : numbers) {
    array.push_back(std::isfinite(number) ? json(number) : json(nullptr));
  }
  return array;
}

std::vector<double> numbers_from_json(const json& object, const char* key) {
  std::vector<double> numbers;
  for (const json& item : object.value(key, json::array())) {
    numbers.push_back(item.is_number() ? item.get<double>() : std::nan(""));
  }
  return numbers;
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
                 {"status", to_string(record.status)},
                 {"reason", record.reason},
                 {"spec", to_json(record.spec)},
                 {"environment", record.environment},
                 {"phase_order", record.phase_order},
                 {"peak_phase", record.peak_phase},
                 {"categories_at_peak_bytes", record.categories_at_peak},
                 {"category_peak_bytes", record.category_peaks},
                 {"predicted", record.predicted},
                 {"step_ms", finite_numbers(record.step_ms)},
                 {"losses", finite_numbers(record.losses)},
                 {"trace_truncated", record.trace_truncated},
                 {"trace_events", record.trace_events},
                 {"notes", record.notes}};
  object["peak_allocated_bytes"] = record.peak ? json(record.peak->allocated) : json(nullptr);
  object["peak_reserved_bytes"] = record.peak ? json(record.peak->reserved) : json(nullptr);
  object["peak_requested_bytes"] = record.peak ? json(record.peak->requested) : json(nullptr);
  object["out_of_memory"] = record.out_of_memory ? to_json(*record.out_of_memory) : json(nullptr);
  object["recorded_peak"] =
      record.recorded_peak ? bytes_to_json(*record.recorded_peak) : json(nullptr);
  object["phases"] = phases_to_json(record.phases);
  object["phase_runs"] = record.phase_runs;
  object["space"] = to_string(record.space);
  object["spaces"] = json::object();
  for (const auto& [name, space] : record.spaces) object["spaces"][name] = to_json(space);
  const auto or_null = [](const std::optional<int64_t>& value) {
    return value ? json(*value) : json(nullptr);
  };
  object["residual_bytes_per_block"] = or_null(record.residual_bytes_per_block);
  object["residual_tensors_per_block"] = or_null(record.residual_tensors_per_block);
  object["residual_blocks"] = json::array();
  for (const BlockResidual& block : record.residual_blocks) {
    object["residual_blocks"].push_back(
        {{"index", block.index}, {"bytes", block.bytes}, {"tensors", block.tensors}});
  }
  object["saved_bytes"] = or_null(record.saved_bytes);
  if (record.watched) object["watched"] = to_json(*record.watched);
  if (record.recomputed_bytes) object["recomputed_bytes"] = *record.recomputed_bytes;
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

namespace {

// Up to version 2 "flash" was any kernel of scaled_dot_product_attention, whichever libtorch chose.
json spec_of(const json& object) {
  json spec = object.at("spec");
  if (object.at("schema_version").get<int>() <= 2 && spec.value("attention", "") == "flash") {
    spec["attention"] = "sdpa";
  }
  return spec;
}

}  // namespace

std::string to_json_line(const Record& record) { return json_line(to_json(record)); }

Record record_from_json(const json& object) {
  if (!object.is_object() || !object.contains("schema_version") || !object.contains("status") ||
      !object.contains("spec")) {
    throw std::invalid_argument("not a Record: schema_version, status or spec is missing");
  }
  if (object.at("schema_version").get<int>() > Record::kSchemaVersion) {
    throw std::invalid_argument("Record of schema version " + object.at("schema_version").dump() +
                                "; this program reads up to " +
                                std::to_string(Record::kSchemaVersion));
  }
  Record record;
  record.spec = spec_from_json(spec_of(object));
  record.status = status_from_string(object.at("status").get<std::string>());
  record.reason = object.value("reason", "");
  record.out_of_memory = out_of_memory_from_json(object);
  record.environment = object.value("environment", json::object());
  const auto optional_bytes = [&](const char* key) -> std::optional<int64_t> {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return std::nullopt;
    return it->get<int64_t>();
  };
  if (const auto allocated = optional_bytes("peak_allocated_bytes")) {
    record.peak = MemoryBytes{*allocated, optional_bytes("peak_reserved_bytes").value_or(0),
                              optional_bytes("peak_requested_bytes").value_or(0)};
  }
  if (object.contains("recorded_peak") && object["recorded_peak"].is_object()) {
    record.recorded_peak = bytes_from_json(object["recorded_peak"]);
  }
  record.phases = phases_from_json(object);
  record.phase_runs = object.value("phase_runs", std::map<std::string, int64_t>{});
  spaces_from_json(object, record);
  record.phase_order = object.value("phase_order", std::vector<std::string>{});
  record.peak_phase = object.value("peak_phase", "");
  record.categories_at_peak =
      object.value("categories_at_peak_bytes", std::map<std::string, int64_t>{});
  record.category_peaks = object.value("category_peak_bytes", std::map<std::string, int64_t>{});
  record.residual_bytes_per_block = optional_bytes("residual_bytes_per_block");
  record.residual_tensors_per_block = optional_bytes("residual_tensors_per_block");
  record.residual_blocks = blocks_from_json(object);
  record.saved_bytes = optional_bytes("saved_bytes");
  record.watched = watched_from_json(object);
  record.recomputed_bytes = optional_bytes("recomputed_bytes");
  record.predicted = object.value("predicted", std::map<std::string, int64_t>{});
  record.step_ms = numbers_from_json(object, "step_ms");
  record.losses = numbers_from_json(object, "losses");
  record.trace_truncated = object.value("trace_truncated", false);
  record.trace_events = object.value("trace_events", int64_t{0});
  record.notes = object.value("notes", std::vector<std::string>{});
  return record;
}

}  // namespace headroom
