// Ranks of a job that run one after the other, each alone. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/dryrun/dryrun.h"

namespace headroom {

using RunRank = std::function<DryRunOutcome(int64_t rank)>;

// These, until one is interrupted; the exit code is the first that is none of success.
DryRunOutcome run_ranks(const std::vector<int64_t>& ranks, const RunRank& run);

// Those that differ, with `kinds`. Where rank 0 fails it is the only one. Note [Distinct ranks]
DryRunOutcome run_distinct(int64_t world_size, const RunRank& run);

}  // namespace headroom
