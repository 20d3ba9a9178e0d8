// A snapshot of the moment memory ran out.
#pragma once

#include <cstdint>
#include <string>

#include "train/settings/spec.h"

namespace headroom {

// Repeats the run and writes spec.snapshot. Returns a note for the Record, whose figures are valid
// even if the file fails. host_memory_bytes: as in RunOptions.
std::string write_snapshot_of_refusal(const RunSpec& spec, int64_t host_memory_bytes);

}  // namespace headroom
