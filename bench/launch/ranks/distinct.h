// Finds the ranks of a job that differ. No torch here.
//
// Note [Distinct ranks]
// Rationale: among 1,024 ranks only a few differ: pipeline stages, uneven shards, first and last.
//   Every other rank needs the same memory as one of these.
// Approach: every rank creates all process groups of the job, so rank 0 alone gives their members.
//   The smallest groups are the axes of the job (tensor, pipeline, data ...). Along each axis the
//   ends and the middle run, and each interval with different ends is halved until neighbours are
//   compared. Ranks with equal places on all axes are of one kind, and one rank of each kind runs.
// Limits: between two equal ranks that ran, all count as equal. Groups outside a regular grid are
//   not an axis. Variation from run to run makes additional kinds; more than kMostRuns are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headroom {

using RankList = std::vector<int64_t>;

// A rank's behaviour: equal texts are equal ranks.
using RankPrint = std::string;

struct RankKind {
  int64_t rank = 0;            // the one that ran
  std::vector<int64_t> ranks;  // all of this kind, including `rank`
};

constexpr int64_t kMostRuns = 64;

// The axes among rank 0's groups: the smallest first, without groups spanned by smaller ones; the
// world if there is no other.
std::vector<RankList> axes_of(const std::vector<RankList>& groups, int64_t world_size);

// Runs the needed ranks, each once; `groups` come from an earlier run of rank 0. Throws
// std::runtime_error beyond kMostRuns.
std::vector<RankKind> distinct_ranks(const std::vector<RankList>& groups, int64_t world_size,
                                     const std::function<RankPrint(int64_t)>& run);

// "0-3,8,10-12".
std::string rank_list(const std::vector<int64_t>& ranks);

}  // namespace headroom
