// Merges the Records of a cell's ranks into one. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/launch/ranks/distinct.h"
#include "profiling/record/record.h"

namespace headroom {

struct RankRecord {
  int64_t rank = 0;
  Record record;
  int64_t turn = 0;  // order of arrival, from 0
  RankList alike;    // the ranks it represents, including itself; none: all ranks ran
};

// The Record of the first rank that failed by itself, otherwise of the one with the highest peak;
// with Record::ranks and the mean of the replicas' losses. `ends`: at least one.
Record record_of_all(std::vector<RankRecord> ends);

}  // namespace headroom
