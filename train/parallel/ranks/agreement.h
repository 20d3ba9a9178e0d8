// How ranks agree on their settings when they meet.
//
// Note [Ranks agree before they begin]
// Rationale: ranks that were started with other settings, or from another build, wait for each
//   other in collectives that do not match: they hang until the timeout, or add up different
//   things.
// Approach: before any group is made, rank 0 writes its settings to the store, every other rank
//   compares its own, and no rank continues before all have. Every rank ends with one line that
//   names the differing rank and setting. Missing ranks are named too.
// Limits: files are not compared: their names may differ between machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// One setting that must be equal on all ranks: {"--zero", "3"}.
struct AgreedSetting {
  std::string what;
  std::string value;
};

// Every setting that is not local to a rank.
std::vector<AgreedSetting> said_by(const RunSpec& spec);

// Returns when all ranks have reported equal settings. Throws UsageError, with the same line on all
// ranks, if one differs, and c10::Error if one does not come.
void agree(c10d::Store& store, int64_t rank, int64_t ranks, const std::vector<AgreedSetting>& own,
           std::chrono::milliseconds patience);

}  // namespace headroom
