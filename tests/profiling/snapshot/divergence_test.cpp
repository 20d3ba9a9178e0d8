#include "profiling/snapshot/analysis/divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/snapshot/analysis/alignment.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// A program whose step() allocates at the given lines: {line, size}.
struct AllocatedAt {
  int64_t line;
  int64_t size;
  bool is_freed_at_once = false;
};

Snapshot program(const std::vector<AllocatedAt>& allocations) {
  Snapshot snapshot;
  snapshot.device_traces.resize(1);
  uint64_t address = 0x1000;
  int64_t time = 0;
  for (const AllocatedAt& each : allocations) {
    const auto stack = static_cast<int32_t>(snapshot.stacks.size());
    snapshot.frames.push_back({"step", "/home/user/train.py", each.line});
    snapshot.stacks.push_back({stack});
    auto& trace = snapshot.device_traces[0];
    const auto add = [&](TraceAction action) {
      trace.push_back({.action = action,
                       .address = address,
                       .size = each.size,
                       .time_us = ++time,
                       .stack = stack});
    };
    add(TraceAction::kAlloc);
    if (each.is_freed_at_once) add(TraceAction::kFreeCompleted);
    address += 0x100000;
  }
  return snapshot;
}

std::vector<AllocatedAt> many(int count) {
  std::vector<AllocatedAt> allocations;
  for (int i = 0; i < count; ++i)
    allocations.push_back({10 + i % 7, 512 * (1 + i % 5), i % 3 == 0});
  return allocations;
}

TEST(Alignment, PairsEqualTokensAndSkipsTheOthers) {
  EXPECT_THAT(align({1, 2}, {1, 2}), ElementsAre(Pair(-1, -1), Pair(0, 0), Pair(1, 1)));
  EXPECT_THAT(align({}, {5}), ElementsAre(Pair(-1, -1), Pair(-1, 0)));
  const std::vector<uint64_t> a = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<uint64_t> b = {1, 9, 9, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(align(a, b), testing::Contains(Pair(6, 8)));
  EXPECT_EQ(matched_share(align(a, b), a, b), 7.0 / 9);
}

TEST(Alignment, AReplacedTokenIsPairedWithItsReplacement) {
  EXPECT_THAT(align({1, 2, 3, 4, 5, 6}, {1, 8, 3, 4, 5, 6}),
              ElementsAre(Pair(-1, -1), Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3), Pair(4, 4),
                          Pair(5, 5)));
}

TEST(Divergence, EqualSnapshotsHaveNoLines) {
  const Snapshot snapshot = make_sample(2000).snapshot;
  const SnapshotDivergence divergence = compare_snapshots(snapshot, snapshot);
  EXPECT_TRUE(divergence.same());
  EXPECT_THAT(divergence.lines, IsEmpty());
  EXPECT_EQ(divergence.a.bytes, divergence.a.peak_bytes);
}

TEST(Divergence, FindsPlantedBytesWithTheirLineWhereverTheyAre) {
  for (const size_t place : {0, 1, 57, 400, 999, 1000}) {
    for (const bool is_freed : {false, true}) {
      const std::vector<AllocatedAt> plain = many(1000);
      std::vector<AllocatedAt> planted = plain;
      planted.insert(planted.begin() + static_cast<int64_t>(place), {77, 512, is_freed});
      const SnapshotDivergence divergence = compare_snapshots(program(plain), program(planted));
      EXPECT_FALSE(divergence.same());
      EXPECT_EQ(divergence.b.bytes - divergence.a.bytes, 512) << place << is_freed;
      ASSERT_THAT(divergence.lines, SizeIs(1)) << place << is_freed;
      EXPECT_EQ(divergence.lines[0].line, "user/train.py:77 step");
      EXPECT_EQ(divergence.lines[0].change(), 512);
      EXPECT_EQ(divergence.lines[0].count_a, 0);
    }
  }
}

TEST(Divergence, ALineThatGrewIsOneRow) {
  std::vector<AllocatedAt> grown = many(300);
  for (AllocatedAt& each : grown) each.size *= each.line == 12 ? 2 : 1;
  const SnapshotDivergence divergence = compare_snapshots(program(many(300)), program(grown));
  ASSERT_THAT(divergence.lines, SizeIs(1));
  EXPECT_EQ(divergence.lines[0].line, "user/train.py:12 step");
  EXPECT_EQ(divergence.lines[0].count_a, divergence.lines[0].count_b);
  EXPECT_EQ(divergence.lines[0].bytes_b, 2 * divergence.lines[0].bytes_a);
}

TEST(Divergence, ALineThatMovedWithinItsFunctionIsTheSame) {
  const SnapshotDivergence divergence = compare_snapshots(
      program({{10, 4096}, {20, 512}}), program({{12, 4096}, {22, 512}, {22, 8}}));
  // Two lines of one function moved: which is which is not known, so both sides are shown.
  EXPECT_THAT(divergence.lines, SizeIs(4));
  const SnapshotDivergence one = compare_snapshots(program({{10, 4096}}), program({{12, 8192}}));
  ASSERT_THAT(one.lines, SizeIs(1));
  EXPECT_EQ(one.lines[0].line, "user/train.py:10 step (in B: user/train.py:12 step)");
  EXPECT_EQ(one.lines[0].change(), 4096);
}

TEST(Divergence, AProgramThatGoesOnIsComparedUntilTheOthersEnd) {
  std::vector<AllocatedAt> longer = many(300);
  for (int i = 0; i < 100; ++i) longer.push_back({90, 1 << 20});
  const SnapshotDivergence divergence = compare_snapshots(program(many(300)), program(longer));
  EXPECT_EQ(divergence.b.tail, 100 - static_cast<int64_t>(kLongestTail));
  EXPECT_EQ(divergence.a.tail, 0);
}

TEST(Divergence, SettingsOfTheAllocatorAreCompared) {
  Snapshot a = program(many(10));
  Snapshot b = a;
  b.settings.expandable_segments = true;
  const SnapshotDivergence divergence = compare_snapshots(a, b);
  ASSERT_THAT(divergence.settings, SizeIs(1));
  EXPECT_EQ(divergence.settings[0].name, "expandable_segments");
  EXPECT_TRUE(divergence.same());
}

TEST(Divergence, AnEmptySnapshotIsBesideAnything) {
  EXPECT_TRUE(compare_snapshots({}, {}).same());
  EXPECT_FALSE(compare_snapshots({}, program(many(3))).same());
}

TEST(Divergence, WholeStacksAreShownOnRequest) {
  Snapshot a = program({{10, 512}});
  a.frames.push_back({"at::empty", "aten/src/ATen/Empty.cpp", 3});
  a.stacks[0] = {1, 0};
  const SnapshotDivergence divergence =
      compare_snapshots(a, program({{10, 1024}}), ShownFrames::kAll);
  ASSERT_THAT(divergence.lines, SizeIs(2));
  EXPECT_EQ(divergence.lines[1].line,
            "at::empty (aten/src/ATen/Empty.cpp:3) < step (/home/user/train.py:10)");
}

}  // namespace
}  // namespace headroom
