// The parts of a row as simdjson has parsed it. For record_reader.cpp only. No torch here.
#pragma once

#include <simdjson.h>

#include <array>
#include <string_view>

#include "profiling/record_reader.h"

namespace headroom {

// Its environment aside. Throws std::invalid_argument, naming the key.
void read_elements(const simdjson::dom::object& row, Keep keep, Record& record);

RowFingerprint fingerprint_of(const simdjson::dom::object& row);

// Members of an environment that are of one row, or long, and that no table looks at.
inline constexpr std::array<std::string_view, 6> kOfOneRow = {
    "allocator_variables", "cell", "key", "nvml", "time_utc", "virtual_card"};

}  // namespace headroom
