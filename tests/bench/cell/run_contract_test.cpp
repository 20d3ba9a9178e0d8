// The contract of docs/step/techniques.md, for bytes on the CPU: every row of
// tests/train/techniques/contract.json satisfies every line of it. Values: contract_test.cpp there.
// No torch here: a Record holds everything.
#include <gtest/gtest.h>

#include <set>

#include "tests/bench/cell/run_ok.h"
#include "tests/support/at_night.h"
#include "tests/train/techniques/contract.h"

namespace headroom {
namespace {

class BytesContract : public testing::TestWithParam<ContractCell> {
 protected:
  void SetUp() override { compile_for(GetParam().with); }
};
class BytesOfSteps : public BytesContract {};

// States, saved and recomputed tensors: each at its own peak.
TEST_P(BytesContract, AllThatTheoryPredictsIsMeasuredToTheByte) {
  const Record record = run_ok(GetParam().with);
  EXPECT_EQ(measured(record), record.predicted);
  EXPECT_FALSE(record.categories_at_peak.contains("allocator_rounding"));
}

TEST_P(BytesOfSteps, ManyStepsLeaveWhatOneLeaves) {
  RunSpec spec = GetParam().with;
  const OwnDirectory directory(spec);
  spec.measure_steps = is_at_night() ? 50 : 3;
  spec.record_steps = is_at_night() ? 3 : 1;
  const Record record = run(spec, {.watches = true});
  ASSERT_EQ(record.status, Status::kOk) << record.reason;
  std::set<int64_t> left;
  for (const MemoryBytes& bytes : record.watched->after_steps) left.insert(bytes.requested);
  EXPECT_EQ(record.watched->after_steps.size(), static_cast<size_t>(spec.measure_steps));
  EXPECT_THAT(left, testing::SizeIs(1));
  EXPECT_THAT(record.watched->growth, testing::IsEmpty());
}

// The limit is a tenth below each phase's peak, because libtorch's oneDNN can do without the last
// bytes. The process continues: the next run equals the first. By day one phase of each row.
TEST_P(BytesOfSteps, OutOfMemoryInTheMiddleOfAStepIsARecordAndTheNextRunIsAsTheFirst) {
  RunSpec spec = GetParam().with;
  const OwnDirectory directory(spec);
  const Record first = run_ok(spec);
  std::vector<std::string> phases(first.phase_order.begin(), first.phase_order.end());
  if (!is_at_night()) phases = {phases[GetParam().name.size() % phases.size()]};
  for (const std::string& phase : phases) {
    // Building this model takes more than nine tenths of this phase, and no other row's does.
    if (GetParam().name == "checkpoint_every_2_fp32" && phase == "loss") continue;
    const int64_t limit = first.phases.at(phase).allocated / 10 * 9;
    const Record record = run(spec, {.host_memory_bytes = limit});
    ASSERT_EQ(record.status, Status::kOom) << phase << ": " << record.reason;
    EXPECT_THAT(record.reason, testing::HasSubstr("host memory: tried to allocate"));
    EXPECT_THAT(record.out_of_memory->during, testing::HasSubstr("step")) << phase;
    EXPECT_THAT(record.out_of_memory->phase, testing::Not("")) << phase;
  }
  const Record after = run_ok(spec);
  EXPECT_EQ(after.losses, first.losses);
  EXPECT_EQ(after.peak->allocated, first.peak->allocated);
  EXPECT_EQ(after.categories_at_peak, first.categories_at_peak);
}

INSTANTIATE_TEST_SUITE_P(Rows, BytesContract,
                         testing::ValuesIn(one_precision_by_day(contract_on_cpu())),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Rows, BytesOfSteps,
                         testing::ValuesIn(share_of(ContractProgram::kBytes, contract_on_cpu())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace headroom
