// Runs ranks of a job one after the other, each alone. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/dryrun/dryrun.h"

namespace headroom {

using RunRank = std::function<DryRunOutcome(int64_t rank)>;

// Runs these ranks until one is interrupted; the exit code is the first nonzero one.
DryRunOutcome run_ranks(const std::vector<int64_t>& ranks, const RunRank& run);

// Runs the ranks that differ, and sets `kinds`; only rank 0 if that fails. Note [Distinct ranks]
DryRunOutcome run_distinct(int64_t world_size, const RunRank& run);

}  // namespace headroom
