#include "profiling/theory/peak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/parameter_table.h"
#include "profiling/theory/rehearsal/allocator/allocator.h"
#include "profiling/theory/rehearsal/allocator/expandable_segments.h"
#include "profiling/theory/rehearsal/allocator/placement.h"
#include "profiling/theory/rehearsal/operations/reduce.h"
#include "profiling/theory/rehearsal/run.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMiB = 1 << 20;

RunSpec spec_of(const std::string& size, Mode mode, Precision precision = Precision::kFp32) {
  RunSpec spec{.model_size = size, .profile_type = mode, .precision = precision};
  spec.device = parse_device("virtual:h200");
  return spec;
}

int64_t bytes_of(const Peak& peak, const std::string& group) { return total(peak.rows, group); }

TEST(AllocatorRules, ABlockIsTheRequestInUnitsOf512Bytes) {
  AllocatorRules allocator;
  EXPECT_EQ(allocator.size(allocator.allocate(1)), 512);
  EXPECT_EQ(allocator.size(allocator.allocate(513)), 1024);
  EXPECT_EQ(allocator.size(allocator.allocate(3 * kMiB + 1)), 3 * kMiB + 512);
  EXPECT_EQ(allocator.allocated(), 512 + 1024 + 3 * kMiB + 512);
}

// 25 MiB get a segment of 26; the remainder is not more than 1 MiB.
TEST(AllocatorRules, AMebibyteThatWouldBeLeftIsHandedOutWithTheBlock) {
  AllocatorRules allocator;
  EXPECT_EQ(allocator.size(allocator.allocate(25 * kMiB)), 26 * kMiB);
  EXPECT_EQ(allocator.size(allocator.allocate(24 * kMiB + 512)), 24 * kMiB + 512);
}

TEST(AllocatorRules, TheSmallestFreeBlockThatFitsIsTakenAndNeighboursAreJoined) {
  AllocatorRules allocator;
  const auto large = allocator.allocate(8 * kMiB);  // in a segment of 20 MiB
  const auto middle = allocator.allocate(4 * kMiB);
  const auto wall = allocator.allocate(8 * kMiB);
  allocator.release(large);
  allocator.release(middle);  // 12 MiB in one piece now
  EXPECT_EQ(allocator.size(allocator.allocate(11 * kMiB)), 12 * kMiB);
  allocator.release(wall);
  EXPECT_EQ(allocator.allocated(), 12 * kMiB);
}

// Note [Placement] in virtual_gpu/device/memory/placement.h.
TEST(SegmentAddresses, ASegmentGoesIntoAHoleOfTheNewestRegionElseBelowTheRegionBefore) {
  SegmentAddresses addresses;
  const int64_t first = addresses.take(20 * kMiB);
  const int64_t second = addresses.take(20 * kMiB);
  EXPECT_EQ(second, first - 32 * kMiB);
  EXPECT_EQ(addresses.take(12 * kMiB), second + 20 * kMiB) << "the newest region's hole";
  EXPECT_EQ(addresses.take(2 * kMiB), first + 20 * kMiB);
  const int64_t long_one = addresses.take(34 * kMiB);
  EXPECT_EQ(long_one, second - 64 * kMiB);
  addresses.give(long_one, 34 * kMiB);  // and the region with it
  EXPECT_EQ(addresses.take(32 * kMiB), second - 32 * kMiB);
  addresses.give(second, 20 * kMiB);  // beside 12 MiB that stay allocated
  EXPECT_EQ(addresses.take(20 * kMiB), second);
}

TEST(SegmentAddresses, ANewRegionTakesFreeAddressesThatAreLonger) {
  SegmentAddresses addresses;
  addresses.take(32 * kMiB);
  const int64_t second = addresses.take(32 * kMiB);
  const int64_t third = addresses.take(32 * kMiB);
  addresses.give(second, 32 * kMiB);
  EXPECT_EQ(addresses.take(32 * kMiB), third - 32 * kMiB);
  addresses.give(third, 32 * kMiB);
  EXPECT_EQ(addresses.take(32 * kMiB), second) << "two regions are free there";
}

TEST(AllocatorRules, OfBlocksThatFitAlikeTheOneAtTheLowestAddressIsTaken) {
  AllocatorRules allocator;
  const auto older = allocator.allocate(26 * kMiB);  // at the higher address
  const auto newer = allocator.allocate(26 * kMiB);
  allocator.release(older);
  allocator.release(newer);
  EXPECT_EQ(allocator.allocate(26 * kMiB), newer);
}

TEST(ExpandableSegmentRules, MemoryComesInPagesOf2And20MiB) {
  ExpandableSegmentRules allocator(1000 * kMiB);
  allocator.allocate(1);
  EXPECT_EQ(allocator.reserved(), 2 * kMiB);
  EXPECT_EQ(allocator.size(allocator.allocate(25 * kMiB)), 25 * kMiB) << "every rest is split off";
  EXPECT_EQ(allocator.reserved(), 42 * kMiB);
  allocator.allocate(15 * kMiB);
  EXPECT_EQ(allocator.reserved(), 42 * kMiB) << "what is left of the page";
  allocator.allocate(1 * kMiB + 512);
  EXPECT_EQ(allocator.reserved(), 62 * kMiB);
}

TEST(ExpandableSegmentRules, AFreeBlockAtTheEndGrowsInsteadOfANewSegment) {
  ExpandableSegmentRules allocator(1000 * kMiB);
  const auto wall = allocator.allocate(20 * kMiB);
  const auto last = allocator.allocate(30 * kMiB);
  allocator.release(last);
  EXPECT_EQ(allocator.reserved(), 60 * kMiB);
  allocator.allocate(70 * kMiB);  // 40 are free after the wall, 2 pages more
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
  allocator.release(wall);
  allocator.allocate(20 * kMiB);
  EXPECT_EQ(allocator.reserved(), 100 * kMiB) << "into the hole";
}

TEST(ExpandableSegmentRules, WholePagesOfFreeBlocksGoBackWhereTheCardIsFull) {
  ExpandableSegmentRules allocator(100 * kMiB);
  allocator.limit(100 * kMiB);
  const auto first = allocator.allocate(50 * kMiB);
  allocator.allocate(10 * kMiB);
  allocator.release(first);
  EXPECT_EQ(allocator.reserved(), 60 * kMiB);
  allocator.allocate(80 * kMiB);  // 50 MiB release two pages, 10 stay before the other block
  EXPECT_EQ(allocator.reserved(), 100 * kMiB);
  EXPECT_THROW(allocator.allocate(11 * kMiB), CardIsFull);
}

int64_t taken(const Reduction& reduction) {
  Run run(0);
  run.memory.begin_peak();
  meet_in_memory(run, reduction);
  return run.memory.peak();
}

// The allocations of a virtual H200 while it summed the gradient of a norm's weight: 6291456 bytes
// and 24. With one result per row, none are needed.
TEST(Reductions, OfFewResultsFromManyNumbersTakeMemory) {
  EXPECT_EQ(taken({.outputs = 768, .inputs = 1024, .inner = false}), 6291456 + 512);
  EXPECT_EQ(taken({.outputs = 768, .inputs = 100, .inner = false}), 0);
  EXPECT_EQ(taken({.outputs = 4096, .inputs = 10000}), 0);
}

// EnzoDing-rgb/cs336-assignment2-systems, reports/memory-profiling.md: 2.7B at batch 4 on an A800
// 80GB, the peak of one step after two, in GiB with three digits.
TEST(PredictedPeak, IsTheOnePublishedOfARealCardWithinATenthOfAPercent) {
  struct Published {
    int64_t context;
    Mode mode;
    Precision precision;
    double gib;
  };
  const Published kPublished[] = {{128, Mode::kForwardGrad, Precision::kFp32, 18.053},
                                  {128, Mode::kForwardGrad, Precision::kBf16, 22.452},
                                  {128, Mode::kTraining, Precision::kFp32, 51.416},
                                  {128, Mode::kTraining, Precision::kBf16, 51.406},
                                  {512, Mode::kForwardGrad, Precision::kFp32, 39.750},
                                  {512, Mode::kForwardGrad, Precision::kBf16, 36.832},
                                  {512, Mode::kTraining, Precision::kFp32, 65.538},
                                  {512, Mode::kTraining, Precision::kBf16, 62.674}};
  for (const Published& published : kPublished) {
    RunSpec spec = spec_of("2.7B", published.mode, published.precision);
    spec.device = parse_device("virtual:a800-80gb");
    spec.context_length = published.context;
    spec.batch_size = 4;
    spec.warmup_steps = 2;
    spec.measure_steps = 1;
    const double gib = static_cast<double>(predicted_peak(spec).allocated) / (1024.0 * kMiB);
    EXPECT_NEAR(gib, published.gib, 0.001 * published.gib) << row_name(spec);
  }
}

// The last product of the forward makes the logits: everything kept for backward exists by then.
TEST(PredictedPeak, OfAForwardWithAGraphHoldsWhatTheRowsSayIsKept) {
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    RunSpec spec = spec_of("small", Mode::kForwardGrad);
    spec.attention = attention;
    const Peak peak = predicted_peak(spec);
    EXPECT_EQ(peak.where, "forward: bmm");
    const auto rows = theory_rows(spec);
    EXPECT_EQ(bytes_of(peak, kActivations), activation_bytes(rows));
    EXPECT_EQ(bytes_of(peak, kParameters), total(rows, kParameters));
    EXPECT_EQ(bytes_of(peak, kTables), total(rows, kTables));
    EXPECT_EQ(bytes_of(peak, kInputs), total(rows, kInputs));
    EXPECT_EQ(bytes_of(peak, kWorkspaces), 32 * kMiB);
  }
}

TEST(PredictedPeak, IsTheSumOfItsRows) {
  for (const Mode mode :
       {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward, Mode::kTraining}) {
    const Peak peak = predicted_peak(spec_of("small", mode));
    int64_t sum = 0;
    for (const Row& row : peak.rows) sum += row.bytes;
    EXPECT_EQ(sum, peak.allocated);
    EXPECT_EQ(peak.requested + bytes_of(peak, kAllocatorRounding), peak.allocated);
  }
}

// The operation of the peak depends on the sizes.
TEST(PredictedPeak, NamesTheOperationThatMakesIt) {
  RunSpec spec = spec_of("small", Mode::kTraining);
  EXPECT_EQ(predicted_peak(spec).where, "backward: GatherBackward0");
  spec.context_length = 1;
  EXPECT_THAT(predicted_peak(spec).where, testing::StartsWith("optimizer"));
  spec.context_length = 2048;
  spec.batch_size = 1;
  EXPECT_EQ(predicted_peak(spec).where, "backward, block 11: DivBackward0");
}

TEST(PredictedPeak, HoldsTheOptimizersStateFromTheFirstUpdateOn) {
  RunSpec spec = spec_of("small", Mode::kTraining);
  spec.warmup_steps = 0;
  spec.measure_steps = 1;
  EXPECT_EQ(bytes_of(predicted_peak(spec), kOptimizerState), 0);
  spec.warmup_steps = 1;
  EXPECT_EQ(bytes_of(predicted_peak(spec), kOptimizerState),
            total(theory_rows(spec), kOptimizerState));
}

// If the update is the peak, its rows and the rehearsal have the same instant.
TEST(PredictedPeak, OfAnUpdateThatIsRoundedHoldsTheTemporariesOfTheRows) {
  for (const OptimizerKind kind :
       {OptimizerKind::kAdamw, OptimizerKind::kSgd, OptimizerKind::kLion}) {
    for (const OptimizerImpl impl : {OptimizerImpl::kReference, OptimizerImpl::kForeach}) {
      RunSpec spec = spec_of("small", Mode::kTraining);
      spec.context_length = 8;
      spec.batch_size = 1;
      spec.weights = WeightType::kBf16;
      spec.rounding = Rounding::kStochastic;
      spec.optimizer = kind;
      spec.optimizer_impl = impl;
      const Peak peak = predicted_peak(spec);
      EXPECT_THAT(peak.where, testing::StartsWith("optimizer"));
      EXPECT_EQ(bytes_of(peak, kOptimizerTemporaries),
                total(theory_rows(spec), kOptimizerTemporaries))
          << row_name(spec) << ", " << peak.where;
    }
  }
}

// With a short context the update is the peak: every optimizer, and every wrapper for BF16 weights,
// has its own. The rehearsal is frozen and supports no newer one.
TEST(PredictedPeak, IsSaidOfEveryOptimizerOverWeightsOfEveryKind) {
  for (const OptimizerInfo& info : optimizers()) {
    if (!info.is_rehearsed) continue;
    for (const bool released : {false, true}) {
      RunSpec spec = spec_of("small", Mode::kTraining);
      spec.optimizer = info.kind;
      spec.context_length = 8;
      spec.release_gradients = released;
      const auto holds_the_states = [&](const RunSpec& of) {
        ASSERT_TRUE(has_predicted_peak(of)) << row_name(of);
        const Peak peak = predicted_peak(of);
        const auto rows = theory_rows(of);
        EXPECT_EQ(bytes_of(peak, kParameters), total(rows, kParameters)) << row_name(of);
        EXPECT_EQ(bytes_of(peak, kMasterWeights), total(rows, kMasterWeights)) << row_name(of);
        EXPECT_EQ(bytes_of(peak, kOptimizerState),
                  total(rows, kOptimizerState) + total(rows, kOptimizerNextState))
            << row_name(of);
      };
      holds_the_states(spec);
      spec.weights = WeightType::kBf16;
      holds_the_states(spec);
      spec.master_weights = MasterCopy::kFp32;
      holds_the_states(spec);
      spec.master_weights = MasterCopy::kNone;
      spec.rounding = Rounding::kStochastic;
      holds_the_states(spec);
    }
  }
}

// The gradient of a norm's weight on a virtual RTX 4090: 1435 rows of 512 numbers are summed in 23
// parts, each of 32 threads times 4 columns, as in its snapshot.
TEST(MeetInMemory, FewSumsOfManyNumbersLeaveTheirPartsInMemory) {
  headroom::Run run(/*workspace_bytes=*/0);
  run.multiprocessors = 128;
  run.threads_per_multiprocessor = 1536;
  meet_in_memory(run, {.outputs = 512, .inputs = 1435, .inner = false});
  EXPECT_EQ(run.memory.peak(), 6029312 + 512);
}

TEST(MeetInMemory, ManySumsOfFewNumbersTakeNothing) {
  headroom::Run run(/*workspace_bytes=*/0);
  meet_in_memory(run, {.outputs = 4096, .inputs = 512});
  EXPECT_EQ(run.memory.peak(), 0);
}

// Only the input of each block is kept, and one block is recomputed.
TEST(PredictedPeak, OfCheckpointingIsInARecomputedBlock) {
  RunSpec spec = spec_of("small", Mode::kForwardBackward);
  spec.context_length = 2048;
  spec.batch_size = 1;
  const int64_t kept = predicted_peak(spec).allocated;
  spec.checkpoint = {CheckpointKind::kFull};
  const Peak peak = predicted_peak(spec);
  EXPECT_LT(peak.allocated, kept / 3);
  EXPECT_GT(bytes_of(peak, kRecomputed), 0);
}

// A block's casts are removed from autocast's cache, which otherwise lives as long as the forward.
TEST(PredictedPeak, OfBlocksThatComeAndGoHoldsTheCastsOfOneBlock) {
  RunSpec spec = spec_of("2.7B", Mode::kTraining, Precision::kBf16);
  spec.checkpoint = parse_checkpoint("--recompute", "full");
  spec.optimizer_offload = spec.param_offload = parse_offload("--param-offload", "cpu");
  const int64_t casts = 2 * parameter_count(model_config(spec));
  EXPECT_LT(predicted_peak(spec).allocated, casts);
  spec.param_offload = {};
  EXPECT_GT(predicted_peak(spec).allocated, casts);
}

TEST(PredictedPeak, OfActivationsIn8BitIsBelowTheExactOnesAndTwiceTheSame) {
  RunSpec spec = spec_of("small", Mode::kForwardBackward);
  spec.context_length = 1024;
  const int64_t exact = predicted_peak(spec).allocated;
  spec.activations.form = ActivationForm::kInt8;
  const int64_t packed = predicted_peak(spec).allocated;
  EXPECT_LT(packed, exact / 2);
  EXPECT_EQ(predicted_peak(spec).allocated, packed);
}

TEST(PredictedPeak, IsNotSaidWhereTheRehearsalDoesNotFollow) {
  RunSpec spec = spec_of("small", Mode::kTraining);
  EXPECT_TRUE(has_predicted_peak(spec));
  EXPECT_TRUE(predicted(spec).contains("peak_allocated_bytes"));
  RunSpec on_the_cpu = spec;
  on_the_cpu.device = parse_device("cpu");
  EXPECT_FALSE(has_predicted_peak(on_the_cpu));
  EXPECT_FALSE(predicted(on_the_cpu).contains("peak_allocated_bytes"));
  RunSpec other_allocator = spec;
  other_allocator.alloc_conf = "expandable_segments:True";
  EXPECT_FALSE(has_predicted_peak(other_allocator));
}

TEST(PredictedPeak, OfSizesThatDoNotFitIsRefusedNotPrinted) {
  RunSpec spec = spec_of("405b", Mode::kForwardGrad);
  spec.context_length = 1 << 24;
  spec.batch_size = 1 << 24;
  EXPECT_THROW(predicted_peak(spec), UsageError);
}

}  // namespace
}  // namespace headroom
