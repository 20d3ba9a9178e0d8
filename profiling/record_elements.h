// The parts of a row as simdjson has parsed it. For record_reader.cpp only. No torch here.
#pragma once

#include <simdjson.h>

#include <array>
#include <optional>
#include <string_view>

#include "profiling/record_reader.h"

namespace headroom {

// A row, and those of its members that are asked for by name: finding one goes through all.
struct RowElements {
  simdjson::dom::object members;
  std::optional<simdjson::dom::element> schema_version, status, spec, environment;

  bool is_record() const { return schema_version && status && spec; }
};
RowElements elements_of(const simdjson::dom::object& row);

// Its environment aside. Throws std::invalid_argument, naming the key.
void read_elements(const RowElements& row, Keep keep, Record& record);

RowFingerprint fingerprint_of(const RowElements& row);

// Members of an environment that are of one row, or long, and that no table looks at.
inline constexpr std::array<std::string_view, 6> kOfOneRow = {
    "allocator_variables", "cell", "key", "nvml", "time_utc", "virtual_card"};

}  // namespace headroom
