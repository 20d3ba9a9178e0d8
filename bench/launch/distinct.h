// Which ranks of a job differ. No torch here.
//
// Note [Distinct ranks]
// Rationale: of 1,024 ranks a handful are different programs: pipeline stages, uneven shards, first
//   and last. The others need what one of these needs.
// Approach: every rank makes all process groups of the job, so a lone rank 0 tells who is in which.
//   Its smallest groups are the axes of the job (tensor, pipeline, data ...). Along each axis its
//   ends and the middle run, and halves between two that differ, until neighbours are alike. Ranks
//   whose places on all axes are alike are of one kind, and one of each kind runs.
// Limits: between two alike ranks that ran, all count as alike. Groups that are no regular grid are
//   no axis. What differs from run to run makes kinds of its own; more than kMostRuns are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headroom {

using RankList = std::vector<int64_t>;

// What a rank did: equal texts are equal ranks.
using RankPrint = std::string;

struct RankKind {
  int64_t rank = 0;            // which ran
  std::vector<int64_t> ranks;  // all of this kind, itself too
};

constexpr int64_t kMostRuns = 64;

// The axes among rank 0's groups: the smallest first, none that smaller ones span, and the world
// where there is no other.
std::vector<RankList> axes_of(const std::vector<RankList>& groups, int64_t world_size);

// Runs what it needs, each rank once; rank 0 ran before and told `groups`. Throws
// std::runtime_error beyond kMostRuns.
std::vector<RankKind> distinct_ranks(const std::vector<RankList>& groups, int64_t world_size,
                                     const std::function<RankPrint(int64_t)>& run);

// "0-3,8,10-12".
std::string rank_list(const std::vector<int64_t>& ranks);

}  // namespace headroom
