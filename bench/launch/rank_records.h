// One Record of what the ranks of a cell wrote. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/launch/distinct.h"
#include "profiling/record/record.h"

namespace headroom {

struct RankRecord {
  int64_t rank = 0;
  Record record;
  int64_t turn = 0;  // when it came: counted from 0
  RankList alike;    // ranks that this one stands for, itself too; none: it ran beside the others
};

// That of the rank that failed by itself, the first of several, else of the fullest; with
// Record::ranks and the mean of the replicas' losses. At least one.
Record record_of_all(std::vector<RankRecord> ends);

}  // namespace headroom
