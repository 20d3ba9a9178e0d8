// --rank: the ranks of a mesh to run. No torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/launch/cell.h"
#include "cli/flags/flags.h"

namespace headroom {

// "0,511,1020-1023": sorted, each once. Throws UsageError.
std::vector<int64_t> parse_rank_list(const std::string& flag, const std::string& typed,
                                     int64_t world_size);

// --rank all|LIST|distinct of `headroom profile`.
Flag rank_flag();
// Throws UsageError if the spec has no mesh, or if these ranks cannot run here.
RankChoice rank_choice_from(const Arguments& arguments, const RunSpec& spec);

}  // namespace headroom
