// A snapshot of the moment memory ran out.
#pragma once

#include <cstdint>
#include <string>

#include "train/settings/spec.h"

namespace headroom {

// Makes the run once more and writes spec.snapshot. Returns a note for the Record, whose figures
// stand whatever becomes of the file. host_memory_bytes: as in RunOptions.
std::string write_snapshot_of_refusal(const RunSpec& spec, int64_t host_memory_bytes);

}  // namespace headroom
