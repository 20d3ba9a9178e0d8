#include "profiling/snapshot/analysis/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/snapshot/analysis/readable_stack.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kTopMiB = 1 << 20;

TraceEvent event(TraceAction action, uint64_t address, int64_t size, int64_t time_us,
                 int32_t stack = -1) {
  return {.action = action, .address = address, .size = size, .time_us = time_us, .stack = stack};
}

// Two older weights, one of them freed in between. Three equal activations in forward, a larger
// gradient in backward, all freed at the end except the other weight.
Snapshot step() {
  Snapshot s;
  s.frames = {
      {"at::_ops::empty_strided::call(long)", "??", 0},
      {"at::_ops::bmm::redispatch(c10::DispatchKeySet)", "??", 0},
      {"at::_ops::matmul::call(at::Tensor const&)", "??", 0},
      {"headroom::Attention::forward(at::Tensor)", "/x/headroom/model/attention.cpp", 88},
      {"headroom::Step::run(headroom::Batch const&)", "/x/headroom/train/step.cpp", 41},
      {"torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)", "??", 0},
      {"c10::SmallVector<long>::grow()", "/opt/torch/include/torch/c10/SmallVector.h", 3}};
  s.stacks = {{6, 0, 1, 2, 3, 4}, {0, 1, 5, 4}};
  s.annotations = {{"forward", true, 0, 100},
                   {"forward", false, 0, 200},
                   {"backward", true, 0, 200},
                   {"backward", false, 0, 300}};
  const auto alloc = TraceAction::kAlloc;
  const auto request = TraceAction::kFreeRequested;
  const auto complete = TraceAction::kFreeCompleted;
  s.device_traces = {
      {event(alloc, 0x100, kTopMiB, 110, 0), event(alloc, 0x200, kTopMiB, 120, 0),
       event(request, 0x900, 7 * kTopMiB, 130), event(complete, 0x900, 7 * kTopMiB, 130),
       event(alloc, 0x300, kTopMiB, 140, 0), event(alloc, 0x400, 10 * kTopMiB, 250, 1),
       event(request, 0x400, 10 * kTopMiB, 260), event(complete, 0x100, kTopMiB, 260),
       event(complete, 0x200, kTopMiB, 270), event(complete, 0x300, kTopMiB, 270),
       event(complete, 0x400, 10 * kTopMiB, 280)}};
  s.segments = {
      {.address = 0x800,
       .total_size = 5 * kTopMiB,
       .blocks = {{.address = 0x800, .size = 5 * kTopMiB, .requested_size = 4 * kTopMiB}}}};
  return s;
}

TEST(SnapshotTop, EqualAllocationsOfSeveralBlocksAreOneRow) {
  Snapshot s = step();
  s.annotations = {{"forward", true, 0, 100},   {"block 9", true, 0, 105},
                   {"block 9", false, 0, 115},  {"block 10", true, 0, 116},
                   {"block 10", false, 0, 190}, {"forward", false, 0, 200},
                   {"backward", true, 0, 200},  {"backward", false, 0, 300}};
  const PeakReport report = largest_allocations(s, 10);
  ASSERT_THAT(report.rows, SizeIs(3));
  EXPECT_EQ(report.rows[2].count, 3);
  EXPECT_EQ(report.rows[2].phase, "block");
}

TEST(SnapshotTop, ThePeakCountsWhatWasLiveBeforeTheTrace) {
  const PeakReport report = largest_allocations(step(), 10);
  EXPECT_EQ(report.peak_bytes, (4 + 3 + 10) * kTopMiB);  // the 7 MiB are freed before the 10
  EXPECT_EQ(report.event, 5);
  EXPECT_EQ(report.phase, "backward");
  EXPECT_EQ(report.live_count, 5);
  EXPECT_EQ(report.before_recording_bytes, 4 * kTopMiB);
  EXPECT_EQ(report.listed_bytes, report.peak_bytes);
}

TEST(SnapshotTop, EqualSizesFromOneStackAreOneRowLargestFirst) {
  const PeakReport report = largest_allocations(step(), 10);
  ASSERT_THAT(report.rows, SizeIs(3));
  EXPECT_EQ(report.rows[0].size, 10 * kTopMiB);
  EXPECT_EQ(report.rows[0].phase, "backward");
  EXPECT_THAT(report.rows[0].stack,
              ElementsAre("train/step.cpp:41 Step::run",
                          "libtorch: BmmBackward0 > aten::bmm > aten::empty_strided"));
  EXPECT_TRUE(report.rows[1].before_recording);
  EXPECT_EQ(report.rows[1].size, 4 * kTopMiB);
  EXPECT_EQ(report.rows[2].size, kTopMiB);
  EXPECT_EQ(report.rows[2].count, 3);
  EXPECT_DOUBLE_EQ(report.rows[2].share, 3.0 / 17);
  EXPECT_EQ(report.rows[2].phase, "forward");
  EXPECT_THAT(
      report.rows[2].stack,
      ElementsAre("model/attention.cpp:88 Attention::forward", "train/step.cpp:41 Step::run",
                  "libtorch: aten::matmul > aten::bmm > aten::empty_strided"));
  EXPECT_THAT(largest_allocations(step(), 1).rows, SizeIs(1));
}

TEST(SnapshotTop, WhatABlockIsForComesFromItsLabelOrFromTheFrameThatNamesIt) {
  Snapshot s = step();
  s.labels = {"activations", "optimizer_state: lm_head.weight"};
  s.frames.push_back({"parameters: lm_head.weight", Frame::kBeforeRecording});
  s.stacks.push_back({7, 4});
  s.segments[0].blocks[0].stack = 2;
  for (const size_t alloc : {0, 1, 4}) s.device_traces[0][alloc].label = 0;
  for (const size_t release : {2, 3}) s.device_traces[0][release].label = 1;
  const PeakReport report = largest_allocations(s, 10);
  EXPECT_EQ(report.rows.at(0).purpose, "");
  EXPECT_EQ(report.rows.at(1).purpose, "parameters");
  EXPECT_THAT(report.rows.at(1).stack, ElementsAre("train/step.cpp:41 Step::run"));
  EXPECT_EQ(report.rows.at(2).purpose, "activations");
  s.device_traces[0].resize(2);  // the later releases are cut off
  s.device_traces[0].push_back(step().device_traces[0][2]);
  s.device_traces[0].push_back(step().device_traces[0][3]);
  s.device_traces[0].back().label = 1;
  EXPECT_EQ(largest_allocations(s, 1).rows.at(0).purpose, "optimizer_state");
}

TEST(SnapshotTop, NamesAreShortenedToWhatAPersonReads) {
  Snapshot s;
  s.frames = {
      {"headroom::(anonymous namespace)::forward(int)::{lambda(auto:1)#2}::operator()(int) const",
       "/x/headroom/model/block.cpp", 1},
      {"at::Tensor headroom::apply<at::Tensor, std::map<int, int> >(at::Tensor const&)",
       "/x/headroom/train/step.cpp", 2},
      {"<module>", "/home/a/train.py", 3},
      {"_PyEval_Vector", "/py/Python/ceval.c", 4},
      {"headroom::HostTracker::record(void*)", "/x/headroom/profiling/host_tracker.cpp", 5},
      {"main", "headroom.cpp", 6}};
  s.stacks = {{4, 0, 1, 2, 3, 5}, {3}};
  EXPECT_THAT(readable_stack(s, 0),
              ElementsAre("model/block.cpp:1 forward", "train/step.cpp:2 apply",
                          "a/train.py:3 <module>", "headroom.cpp:6 main"));
  EXPECT_THAT(readable_stack(s, 1), ElementsAre("_PyEval_Vector"));
}

TEST(SnapshotTop, RowsAreOrderedByTheirTotalOrByOneAllocation) {
  Snapshot s = step();
  for (TraceEvent& one : s.device_traces[0]) {
    if (one.size == kTopMiB) one.size = 3 * kTopMiB / 2;  // three of them: more than the 4 MiB
  }
  EXPECT_THAT(largest_allocations(s, 0).rows,
              ElementsAre(testing::Field(&LiveAllocation::count, 1),
                          testing::Field(&LiveAllocation::count, 3),
                          testing::Field(&LiveAllocation::count, 1)));
  EXPECT_EQ(largest_allocations(s, 0, TopOrder::kEach).rows.at(1).size, 4 * kTopMiB);
  const PeakReport two = largest_allocations(s, 2);
  EXPECT_EQ(two.listed_bytes, two.rows.at(0).size + 3 * two.rows.at(1).size);
}

TEST(SnapshotTop, FramesOfTheInterpreterAndOfTheThreadAreNotShown) {
  const std::string python = "/usr/local/src/conda/python-3.10.14/";
  Snapshot s;
  s.frames = {{"cfunction_call", python + "Objects/methodobject.c", 543},
              {"_PyObject_VectorcallTstate", python + "Include/cpython/abstract.h", 112},
              {"_PyEval_EvalFrame", python + "Include/internal/pycore_ceval.h", 46},
              {"do_call_core", python + "Python/ceval.c", 5945},
              {"forward", "/x/y/model.py", 30},
              {"run", "/usr/lib/python3.10/threading.py", 953},
              {"_bootstrap", "/usr/lib/python3.10/threading.py", 973},
              {"execute_native_thread_routine", "/build/gcc/libstdc++-v3/src/c++11/thread.cc", 82}};
  s.stacks = {{0, 1, 2, 3, 4, 1, 2, 5, 6, 7}};
  EXPECT_THAT(readable_stack(s, 0), ElementsAre("y/model.py:30 forward"));
}

TEST(SnapshotTop, AGradientThatIsCopiedIsOfTheNodeThatCopiesIt) {
  Snapshot s;
  s.frames = {{"torch::autograd::utils::clone_obey_contract(at::Tensor const&)", "libtorch.so"},
              {"torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "libtorch.so"},
              {"headroom::Step::backward(at::Tensor const&)", "/x/headroom/train/step.cpp", 87}};
  s.stacks = {{0, 1, 2}};
  EXPECT_THAT(readable_stack(s, 0),
              ElementsAre("train/step.cpp:87 Step::backward", "libtorch: AccumulateGrad"));
}

TEST(SnapshotTop, APeakBeforeTheTraceIsThePeak) {
  Snapshot s = step();
  s.device_traces[0][3].size = 700 * kTopMiB;
  const PeakReport report = largest_allocations(s, 10);
  EXPECT_EQ(report.peak_bytes, 706 * kTopMiB);  // with the two allocated before it is freed
  s.device_traces[0].erase(s.device_traces[0].begin(), s.device_traces[0].begin() + 2);
  EXPECT_EQ(largest_allocations(s, 10).event, -1);
}

TEST(SnapshotTop, TheFullerDeviceIsReported) {
  Snapshot s = step();
  s.device_traces.push_back({event(TraceAction::kAlloc, 0x100, 100 * kTopMiB, 5)});
  const PeakReport report = largest_allocations(s, 10);
  EXPECT_EQ(report.device, 1);
  EXPECT_EQ(report.peak_bytes, 100 * kTopMiB);
}

TEST(SnapshotTop, ALongTraceGivesTheBytesItsMakerCounted) {
  const SnapshotSample sample = make_sample(50'000);
  const PeakReport report = largest_allocations(sample.snapshot, 0);
  EXPECT_EQ(report.peak_bytes, sample.peak_bytes);
  EXPECT_EQ(report.listed_bytes, sample.peak_bytes);
  EXPECT_THAT(report.phase, testing::AnyOf("forward", "backward"));
}

TEST(SnapshotTop, NothingLiveGivesNoRows) {
  EXPECT_THAT(largest_allocations({}, 10).rows, IsEmpty());
  EXPECT_EQ(largest_allocations({}, 10).peak_bytes, 0);
}

}  // namespace
}  // namespace headroom
