// The instant at which memory ran out, for the listeners to Python and to C++ programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

// The live memory of a device, what was requested, and how the allocator's free memory is split.
// `wanted` is of the card: a segment.
nlohmann::json refusal_json(int device, int64_t wanted, const Instant& live);

}  // namespace headroom
