#include "train/parallel/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "text/quantity.h"

namespace headroom {
namespace {

struct Case {
  const char* schedule;
  int64_t stages;
  int64_t micro_batches;
};
constexpr Case kCases[] = {{"gpipe", 1, 1},         {"gpipe", 4, 6},
                           {"1f1b", 1, 3},          {"1f1b", 2, 4},
                           {"1f1b", 4, 2},          {"1f1b", 5, 16},
                           {"interleaved:2", 2, 2}, {"interleaved:2", 2, 8},
                           {"interleaved:3", 4, 4}, {"interleaved:3", 4, 12}};

std::vector<std::vector<Action>> lists_of(const Case& one) {
  const PipelineOrder schedule = parse_schedule("--schedule", one.schedule);
  std::vector<std::vector<Action>> lists;
  for (int64_t stage = 0; stage < one.stages; ++stage) {
    lists.push_back(actions_of(schedule, one.stages, stage, one.micro_batches));
  }
  return lists;
}

TEST(Schedule, EveryChunkGoesForwardAndBackwardOnceWithEveryMicroBatch) {
  for (const Case& one : kCases) {
    const int64_t chunks = parse_schedule("--schedule", one.schedule).chunks;
    for (const auto& list : lists_of(one)) {
      EXPECT_EQ(static_cast<int64_t>(list.size()), 2 * chunks * one.micro_batches);
      std::set<std::pair<int64_t, int64_t>> forwards;
      std::set<std::pair<int64_t, int64_t>> backwards;
      for (const Action& action : list) {
        const std::pair key(action.chunk, action.micro_batch);
        if (action.kind == ActionKind::kForward) {
          EXPECT_TRUE(forwards.insert(key).second) << one.schedule;
        } else {
          EXPECT_EQ(forwards.count(key), 1u) << one.schedule;
          EXPECT_TRUE(backwards.insert(key).second) << one.schedule;
        }
      }
    }
  }
}

// The end of the last stage, if every action takes one unit of time and each stage runs its actions
// in order, each as soon as its inputs from other stages are ready. -1: a deadlock.
int64_t units_of_time(const Case& one) {
  const auto lists = lists_of(one);
  const int64_t pieces = one.stages * parse_schedule("--schedule", one.schedule).chunks;
  std::map<std::array<int64_t, 3>, int64_t> ends;  // by kind, piece, micro-batch
  std::vector<size_t> at(lists.size(), 0);
  std::vector<int64_t> now(lists.size(), 0);
  bool moved = true;
  while (std::exchange(moved, false)) {
    for (size_t stage = 0; stage < lists.size(); ++stage) {
      while (at[stage] < lists[stage].size()) {
        const Action& action = lists[stage][at[stage]];
        const int64_t piece = action.chunk * one.stages + static_cast<int64_t>(stage);
        const bool forward = action.kind == ActionKind::kForward;
        const bool own = forward ? piece == 0 : piece + 1 == pieces;
        const auto needed =
            ends.find({forward ? 0 : 1, forward ? piece - 1 : piece + 1, action.micro_batch});
        if (!own && needed == ends.end()) break;
        now[stage] = std::max(now[stage], own ? 0 : needed->second) + 1;
        ends[{forward ? 0 : 1, piece, action.micro_batch}] = now[stage];
        ++at[stage];
        moved = true;
      }
    }
  }
  for (size_t stage = 0; stage < lists.size(); ++stage) {
    if (at[stage] < lists[stage].size()) return -1;
  }
  return *std::max_element(now.begin(), now.end());
}

TEST(Schedule, NoStageWaitsForEver) {
  for (const Case& one : kCases) EXPECT_GT(units_of_time(one), 0) << one.schedule;
}

int64_t most_in_flight(const std::vector<Action>& list) {
  int64_t now = 0;
  int64_t most = 0;
  for (const Action& action : list) {
    now += action.kind == ActionKind::kForward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

TEST(Schedule, Under1F1BAStageHoldsAsManyMicroBatchesAsStagesAreFromItOn) {
  for (int64_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(most_in_flight(actions_of({}, 4, stage, 16)), 4 - stage);
  }
  EXPECT_EQ(most_in_flight(actions_of({ScheduleKind::kGpipe, 1}, 4, 3, 16)), 16);
}

TEST(Schedule, PiecesHaveEveryLayerOnce) {
  for (const int64_t pieces : {1, 2, 3, 7}) {
    int64_t next = 0;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const LayerSpan span = layers_of_piece(7, pieces, piece);
      EXPECT_EQ(span.first, next);
      EXPECT_GT(span.end, span.first);
      next = span.end;
    }
    EXPECT_EQ(next, 7);
  }
}

TEST(Schedule, IsReadAsItIsWritten) {
  for (const char* word : {"gpipe", "1f1b", "interleaved:4"}) {
    EXPECT_EQ(to_string(parse_schedule("--schedule", word)), word);
  }
  for (const char* word : {"", "1F1B", "interleaved", "interleaved:1", "interleaved:two"}) {
    EXPECT_THROW(parse_schedule("--schedule", word), UsageError) << word;
  }
}

}  // namespace
}  // namespace headroom
