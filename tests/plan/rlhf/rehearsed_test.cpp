#include "plan/rlhf/rehearsed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

using testing::HasSubstr;

RlhfSpec training_alone() {
  RlhfSpec spec = small_plan();
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.response_len = 0;
  return spec;
}

int64_t training_bytes(const RlhfSpec& spec) {
  return worst_rank(spec, RlhfModels(spec))
      .phase_bytes(RlhfPhase::kTraining, spec.setup.swap_phases);
}

// What `headroom profile` would run, written out by hand.
RunSpec run_of_small_model() {
  return {.model_size = "custom",
          .d_model = 8,
          .d_ff = 16,
          .layers = 4,
          .heads = 4,
          .kv_heads = 2,
          .vocab_size = 10,
          .context_length = 16,
          .batch_size = 2,
          .profile_type = Mode::kTraining,
          .weights = WeightType::kBf16,
          .master_weights = MasterCopy::kFp32,
          .attention = Attention::kSdpa,
          .optimizer_impl = OptimizerImpl::kFused,
          .device = parse_device("virtual:h100-80gb")};
}

TEST(RehearsedTraining, IsThePeakOfTheStepAndTheContext) {
  for (const OptimizerImpl implementation :
       {OptimizerImpl::kReference, OptimizerImpl::kForeach, OptimizerImpl::kFused}) {
    RlhfSpec spec = training_alone();
    spec.optimizer_impl = implementation;
    RunSpec run = run_of_small_model();
    run.optimizer_impl = implementation;
    EXPECT_EQ(training_bytes(spec), predicted_peak(run).allocated + spec.card.context_bytes)
        << to_string(implementation);
  }
}

TEST(RehearsedTraining, HasWhatStaysBesideTheStep) {
  RlhfSpec alone = training_alone();
  RlhfSpec beside = alone;
  beside.critic = beside.actor;
  beside.reward = beside.actor;
  beside.setup.reference = Reference::kResident;
  constexpr int64_t kActor = 2536;
  constexpr int64_t kCritic = kActor - 80 + 8;  // one output
  int64_t scores = 0;                           // experience of the other models
  for (const Component& component : memory_of(beside).components) {
    if (component.name == std::string("PPO scores")) scores = component.bytes;
  }
  EXPECT_EQ(training_bytes(beside) - training_bytes(alone),
            (2 + 2 + 12) * kCritic + 2 * kActor + 2 * kCritic + scores);
  beside.setup.swap_phases = true;
  EXPECT_EQ(training_bytes(beside) - training_bytes(alone), (2 + 2 + 12) * kCritic + scores);
}

TEST(RehearsedTraining, IsOfTheModelWhoseStepNeedsMore) {
  RlhfSpec spec = small_plan();
  spec.response_len = 0;
  EXPECT_THAT(worst_rank(spec, RlhfModels(spec)).training, HasSubstr("step of the actor"));
  spec.critic->d_ff = 4096;
  EXPECT_THAT(worst_rank(spec, RlhfModels(spec)).training, HasSubstr("step of the critic"));
}

TEST(RehearsedTraining, OfAnOptimizerOnTheHostIsTheStepThatHasIt) {
  RlhfSpec spec = training_alone();
  spec.setup.optimizer_space = MemorySpace::kHost;
  RunSpec run = run_of_small_model();
  run.optimizer_offload.space = MemorySpace::kHost;
  run.optimizer_impl = OptimizerImpl::kReference;
  EXPECT_EQ(training_bytes(spec), predicted_peak(run).allocated + spec.card.context_bytes);
}

TEST(RehearsedTraining, IsAddedUpWhereNoRunIsLikeIt) {
  const auto why = [](const std::function<void(RlhfSpec&)>& change) {
    RlhfSpec spec = small_plan();
    change(spec);
    const std::string reason = why_added_up(spec);
    const RankMemory memory = worst_rank(spec, RlhfModels(spec));
    EXPECT_EQ(memory.training.starts_with("added up"), !reason.empty()) << memory.training;
    EXPECT_THAT(memory.training, HasSubstr(reason));
    return reason;
  };
  EXPECT_EQ(why([](RlhfSpec&) {}), "");
  EXPECT_EQ(why([](RlhfSpec& spec) {
              spec.num_gpus = 2;
              spec.setup.layout.dp = 2;
            }),
            "several GPUs");
  EXPECT_THAT(why([](RlhfSpec& spec) {
                spec.setup.optimizer_space = MemorySpace::kHost;
                spec.precision = find_state_precision("bf16-pure");
              }),
              HasSubstr("--optimizer-offload"));
  for (const char* name : {"fp16-mixed", "bf16-fp32-grads"}) {
    EXPECT_EQ(why([&](RlhfSpec& spec) { spec.precision = find_state_precision(name); }),
              std::string("no run keeps its states as ") + name);
  }
  EXPECT_EQ(why([](RlhfSpec& spec) { spec.actor.layers = 1025; }), "such a step is not rehearsed");
}

// What the search leaves out unrehearsed.
TEST(RehearsedTraining, NeedsNoLessThanWhatTheUpdateBeginsWith) {
  for (const StatePrecision& precision : state_precisions()) {
    for (const OptimizerInfo& optimizer : optimizers()) {
      RlhfSpec spec = small_plan();
      spec.precision = precision;
      spec.optimizer = optimizer.kind;
      const RlhfModels models(spec);
      EXPECT_LE(least_bytes(spec, added_up(spec, models)),
                worst_rank(spec, models).peak_bytes(false))
          << precision.name << " " << optimizer.word;
    }
  }
}

}  // namespace
}  // namespace headroom
