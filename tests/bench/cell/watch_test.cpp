// headroom profile --watch: reports a step that leaks, and only that one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cell/machine/device.h"
#include "bench/cell/memory/recorded_steps.h"
#include "bench/cell/run.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"

namespace headroom {
namespace {

using testing::Each;
using testing::IsEmpty;
using torch::Tensor;

RunSpec watched_spec() {
  RunSpec spec = tiny_spec();
  spec.record_steps = 3;
  spec.stacks = Stacks::kCpp;
  return spec;
}

TEST(Watch, NothingOfAnOrdinaryStepGrows) {
  for (const OptimizerImpl impl : {OptimizerImpl::kReference, OptimizerImpl::kForeach}) {
    RunSpec spec = watched_spec();
    spec.optimizer_impl = impl;
    spec.measure_steps = 4;
    const Record record = run(spec, {.watches = true});
    ASSERT_EQ(record.status, Status::kOk) << record.reason;
    ASSERT_TRUE(record.watched);
    ASSERT_EQ(record.watched->after_steps.size(), 4U);
    std::vector<int64_t> live;
    for (const MemoryBytes& bytes : record.watched->after_steps) live.push_back(bytes.requested);
    EXPECT_THAT(live, Each(live.front()));
    EXPECT_THAT(record.watched->growth, IsEmpty());
  }
}

TEST(Watch, IsNotOfARunThatWasNotAsked) { EXPECT_FALSE(run(watched_spec(), {}).watched); }

// Tensors kept for a log and never released.
std::vector<Tensor>& kept() {
  static std::vector<Tensor> all;
  return all;
}

__attribute__((noinline)) void keep_for_the_log(const Tensor& tensor) {
  kept().push_back(tensor.detach().clone());
}

TEST(Watch, ALeakIsNamedWithItsBytesAndTheLineThatMadeIt) {
  const RunSpec spec = watched_spec();
  std::vector<std::string> notes;
  const auto device = torch::Device(torch::kCPU);
  const Memories memories = track_memories(device, 0);
  const auto step = build_step(spec, device, &notes);
  step->run_block = [](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    Tensor y_BSD = block(x_BSD);
    if (index == 1) keep_for_the_log(y_BSD);
    return y_BSD;
  };
  const Data data(spec, model_config(spec).vocab_size, device, 10);
  step->run(data.batch(0));
  std::string failed_in;
  Record record;
  record.spec = spec;
  record.watched.emplace();
  RecordedSteps recorded(*step, memories, spec, failed_in);
  for (int64_t i = 0; i < spec.record_steps; ++i) recorded.run(data.batch(i + 1));
  recorded.finish(record);
  kept().clear();
  ASSERT_EQ(record.watched->growth.size(), 1U);
  const Growth& leak = record.watched->growth.front();
  EXPECT_EQ(leak.bytes, spec.batch_size * spec.context_length * spec.d_model * 4);
  EXPECT_EQ(leak.count, 1);
  EXPECT_EQ(leak.phase, "block");
  ASSERT_FALSE(leak.stack.empty());
  EXPECT_THAT(leak.stack.front(), testing::HasSubstr("watch_test.cpp:"));
  EXPECT_THAT(leak.stack.front(), testing::HasSubstr("keep_for_the_log"));
}

}  // namespace
}  // namespace headroom
