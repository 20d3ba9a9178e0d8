// The parts of a row after simdjson's parse. For record_reader.cpp only. No torch here.
#pragma once

#include <simdjson.h>

#include <array>
#include <optional>
#include <string_view>

#include "profiling/record/record_reader.h"

namespace headroom {

// A row and its members that are read by name: each lookup would walk through all members.
struct RowElements {
  simdjson::dom::object members;
  std::optional<simdjson::dom::element> schema_version, status, spec, environment;

  bool is_record() const { return schema_version && status && spec; }
};
RowElements elements_of(const simdjson::dom::object& row);

// All but the environment. Throws std::invalid_argument with the key.
void read_elements(const RowElements& row, Keep keep, Record& record);

RowFingerprint fingerprint_of(const RowElements& row);

// Members of an environment that no table reads: they differ by row, or are long.
inline constexpr std::array<std::string_view, 6> kOfOneRow = {
    "allocator_variables", "cell", "key", "nvml", "time_utc", "virtual_card"};

}  // namespace headroom
