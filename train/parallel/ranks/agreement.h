// What ranks tell each other when they meet.
//
// Note [Ranks agree before they begin]
// Rationale: ranks that were started with other settings, or of another build, wait for each other
//   in collectives that do not fit together: they hang until their patience ends, or add up what
//   is not the same thing.
// Approach: before any group is made rank 0 says in the store what it runs, every other rank holds
//   its own against that, and nobody goes on before all have. Who differs is named, with what
//   differs, in one line that every rank ends with. Ranks that do not come are named likewise.
// Limits: files are compared by nothing: their names may differ between machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "train/spec.h"

namespace headroom {

// One thing that all ranks have to have alike: {"--zero", "3"}.
struct AgreedSetting {
  std::string what;
  std::string value;
};

// Every setting that no rank has for itself.
std::vector<AgreedSetting> said_by(const RunSpec& spec);

// Returns when all ranks have said the same. Throws UsageError, on all ranks the same line, where
// one differs, and c10::Error where one does not come.
void agree(c10d::Store& store, int64_t rank, int64_t ranks, const std::vector<AgreedSetting>& own,
           std::chrono::milliseconds patience);

}  // namespace headroom
