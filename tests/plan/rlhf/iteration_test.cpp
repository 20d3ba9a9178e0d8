#include "plan/rlhf/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/parameter_table.h"
#include "plan/rlhf/rehearsed.h"
#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

// The same iteration as a plan and, written out by hand, as a run of `headroom ppo`.
struct Case {
  RlhfSpec plan;
  PpoRun run;
};

Case small_case() {
  RlhfSpec plan = small_plan();
  plan.actor = *find_config("small");
  plan.critic = plan.actor;
  plan.reward.reset();
  plan.batch_size = 4;
  plan.seq_len = 192;
  plan.response_len = 64;
  PpoRun run{.shared = {.model_size = "small",
                        .context_length = 192,
                        .batch_size = 4,
                        .weights = WeightType::kBf16,
                        .master_weights = MasterCopy::kFp32,
                        .attention = Attention::kSdpa,
                        .optimizer_impl = OptimizerImpl::kFused,
                        .max_grad_norm = 1,
                        .device = parse_device("virtual:h100-80gb"),
                        .prompt_len = 128,
                        .response_len = 64,
                        .temperature = 1}};
  run.setup.ppo.epochs = 2;
  return {plan, run};
}

void expect_equal(const Case& one) {
  ASSERT_EQ(why_added_up(one.plan), "");
  const RankMemory memory = worst_rank(one.plan, RlhfModels(one.plan));
  const std::vector<PhasePeak> peaks = predicted_iteration(one.run.shared, one.run.setup);
  for (size_t i = 0; i < kRlhfPhases.size(); ++i) {
    const RlhfPhase phase = kRlhfPhases.at(i);
    const int64_t bytes = memory.phase_bytes(phase, one.plan.setup.swap_phases);
    EXPECT_EQ(bytes, peaks[i].allocated + one.plan.card.context_bytes) << peaks[i].phase;
    // Every component is the rehearsal's: the rest is the allocator's, and optimizers' step
    // counters, which rows do not include.
    const int64_t counters =
        bytes_of(memory, "Allocator's rounding", phase) - (peaks[i].allocated - peaks[i].requested);
    EXPECT_GE(counters, 0) << peaks[i].phase;
    EXPECT_LE(counters, 8192) << peaks[i].phase;
  }
  for (const Component& component : memory.components) EXPECT_GT(component.bytes, 0);
}

TEST(RehearsedIteration, HasInEveryPhaseWhatIsComputedOfTheRun) { expect_equal(small_case()); }

using Changes = std::vector<std::pair<const char*, std::function<void(Case&)>>>;

void expect_equal_after(const Changes& changes) {
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    Case one = small_case();
    change(one);
    expect_equal(one);
  }
}

TEST(RehearsedIteration, FollowsChangesOfTheModels) {
  expect_equal_after({{"reference on the host",
                       [](Case& one) {
                         one.plan.setup.reference = Reference::kOffload;
                         one.run.setup.reference = ReferencePlace::kOffload;
                       }},
                      {"no reference",
                       [](Case& one) {
                         one.plan.setup.reference = Reference::kNone;
                         one.run.setup.reference = ReferencePlace::kNone;
                       }},
                      {"a critic and a reward model of other sizes",
                       [](Case& one) {
                         one.plan.critic = *find_config("medium");
                         one.run.setup.critic_size = "medium";
                         one.plan.reward = *find_config("large");
                         one.run.setup.reward_size = "large";
                       }},
                      {"no critic", [](Case& one) {
                         one.plan.critic.reset();
                         one.run.setup.ppo.algorithm = PpoAlgorithm::kGrpo;
                         one.run.setup.ppo.group_size = 4;
                       }}});
}

TEST(RehearsedIteration, FollowsChangesOfTheSetUp) {
  expect_equal_after(
      {{"phases swapped",
        [](Case& one) { one.plan.setup.swap_phases = one.run.setup.swap_phases = true; }},
       {"micro-batches",
        [](Case& one) {
          one.plan.setup.micro_batch_size = 2;
          one.run.setup.ppo.max_tokens_per_micro_batch = 2 * 192;
          one.run.shared.prefill_chunk = 2 * 128;
        }},
       {"checkpointed",
        [](Case& one) {
          one.plan.setup.checkpoint = one.run.shared.checkpoint = {CheckpointKind::kFull};
        }},
       {"optimizer on the host",
        [](Case& one) {
          one.plan.setup.optimizer_space = MemorySpace::kHost;
          one.run.shared.optimizer_offload.space = MemorySpace::kHost;
          one.run.shared.optimizer_impl = OptimizerImpl::kReference;
        }},
       {"FP32, eager attention",
        [](Case& one) {
          one.plan.precision = find_state_precision("fp32");
          one.plan.cache = ElementType::kFp32;
          one.plan.attention = one.run.shared.attention = Attention::kEager;
          one.run.shared.weights = WeightType::kFp32;
          one.run.shared.master_weights = MasterCopy::kNone;
        }},
       {"a cache in FP8", [](Case& one) {
          one.plan.cache = ElementType::kFp8;
          one.run.shared.kv_cache_dtype = KvCacheTypeWord::kFp8;
        }}});
}

// Frozen models of an autocast run are planned in BF16.
TEST(RehearsedIteration, KeepsFrozenModelsInLowPrecision) {
  RlhfSpec plan = small_case().plan;
  plan.precision = find_state_precision("bf16");
  const RankMemory memory = worst_rank(plan, RlhfModels(plan));
  EXPECT_EQ(bytes_of(memory, std::string(kReferenceWeights), RlhfPhase::kScoring),
            2 * parameter_count(plan.actor));
}

TEST(RehearsedIteration, NamesWhyAnIterationIsNone) {
  RlhfSpec plan = small_case().plan;
  EXPECT_EQ(why_not_rehearsed(plan), "");
  plan.critic.reset();
  plan.batch_size = 1;
  EXPECT_THAT(why_not_rehearsed(plan), testing::HasSubstr("two responses"));
}

// The bound by which the search excludes plans without a rehearsal.
TEST(RehearsedIteration, NeedsNoLessThanItsStates) {
  for (const bool swap : {false, true}) {
    for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
      for (const int64_t micro_batch : {1, 4}) {
        RlhfSpec plan = small_case().plan;
        plan.setup.swap_phases = swap;
        plan.setup.optimizer_space = space;
        plan.setup.micro_batch_size = micro_batch;
        const RlhfModels models(plan);
        EXPECT_LE(least_bytes(plan, added_up(plan, models)),
                  worst_rank(plan, models).peak_bytes(swap));
      }
    }
  }
}

}  // namespace
}  // namespace headroom
