#include "plan/rlhf/rehearsed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plan/cost/library_bytes.h"
#include "tests/plan/rlhf/small_plan.h"
#include "tests/support/at_night.h"

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

// The run of `headroom profile`, written out by hand.
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
  const auto on_tp = [&](const std::function<void(RlhfSpec&)>& change) {
    return why([&](RlhfSpec& spec) {
      spec.num_gpus = spec.setup.layout.tp = 2;
      change(spec);
    });
  };
  EXPECT_EQ(on_tp([](RlhfSpec&) {}), "");
  EXPECT_EQ(on_tp([](RlhfSpec& spec) { spec.critic->layers = 2; }),
            "on tp a critic of another size");
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

// A layout of several GPUs with compatible techniques.
struct OnGpus {
  Layout layout;
  int64_t micro_batches = 1;
  MemorySpace optimizer = MemorySpace::kDevice;
};

std::vector<OnGpus> some_layouts() {
  return {{.layout = {.dp = 2}},
          {.layout = {.dp = 3, .zero = 1}, .micro_batches = 2},
          {.layout = {.dp = 4, .zero = 2}},
          {.layout = {.dp = 4, .zero = 3}, .micro_batches = 4},
          {.layout = {.tp = 2, .sequence_parallel = true}},
          {.layout = {.tp = 2, .dp = 2, .zero = 1}},
          {.layout = {.pp = 2}, .micro_batches = 4},
          {.layout = {.pp = 4}, .micro_batches = 8},
          {.layout = {.tp = 2, .pp = 2, .dp = 2, .zero = 1, .sequence_parallel = true},
           .micro_batches = 2},
          {.layout = {.dp = 2, .zero = 1}, .optimizer = MemorySpace::kHost},
          {.layout = {.dp = 2}, .optimizer = MemorySpace::kHost},
          {.layout = {.tp = 2, .pp = 2}, .micro_batches = 2, .optimizer = MemorySpace::kHost}};
}

RlhfSpec spread(RlhfSpec spec, const OnGpus& on) {
  spec.num_gpus = on.layout.ranks();
  spec.batch_size = 8;
  spec.setup.layout = on.layout;
  spec.setup.micro_batch_size = spec.batch_size / on.micro_batches;
  spec.setup.optimizer_space = on.optimizer;
  return spec;
}

// A plan's figures are those of the mesh's fullest rank.
TEST(RehearsedTraining, OfSeveralGpusIsThePeakOfTheFullestRank) {
  for (const OnGpus& on : some_layouts()) {
    const RlhfSpec spec = spread(training_alone(), on);
    ASSERT_EQ(why_added_up(spec), "") << to_string(on.layout);
    RunSpec run = run_of_small_model();
    run.batch_size = spec.batch_size;
    run.micro_batches = on.micro_batches;
    run.mesh.sizes = {on.layout.pp, on.layout.dp, on.layout.tp};
    run.zero = on.layout.zero;
    run.sequence_parallel = on.layout.sequence_parallel;
    if (on.optimizer == MemorySpace::kHost) {
      run.optimizer_offload.space = MemorySpace::kHost;
      run.optimizer_impl = OptimizerImpl::kReference;
    }
    int64_t fullest = 0;
    for (int64_t rank = 0; rank < run.mesh.ranks(); ++rank) {
      fullest = std::max(fullest, predicted_peak(run, Head::kLanguage, rank).allocated);
    }
    // The plan's run has other micro-batches, and so another block of tokens.
    constexpr int64_t kBlock = 512;
    const int64_t outside = spec.card.context_bytes + nccl_bytes(spec.num_gpus);
    EXPECT_NEAR(training_bytes(spec) - outside, fullest, kBlock) << to_string(on.layout);
  }
}

// Tables and CSV distinguish components by name.
TEST(RehearsedTraining, NoTwoComponentsHaveOneName) {
  for (const OnGpus& on : some_layouts()) {
    RlhfSpec spec = spread(small_plan(), on);
    spec.setup.reference = Reference::kOffload;
    const RankMemory memory = worst_rank(spec, RlhfModels(spec));
    std::set<std::string> names;
    for (const Component& one : memory.components) {
      EXPECT_TRUE(names.insert(one.name).second) << one.name << ": " << to_string(on.layout);
    }
  }
}

// The bound by which the search excludes plans without a rehearsal, for models whose sizes are not
// multiples of the allocator's.
TEST(RehearsedTraining, OfSeveralGpusNeedsNoLessThanWhatIsCertain) {
  std::vector<RlhfSpec> specs;
  for (const OnGpus& on : some_layouts()) {
    for (const CheckpointKind checkpoint : {CheckpointKind::kNone, CheckpointKind::kFull}) {
      for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
        for (const bool generates : {false, true}) {
          RlhfSpec spec = spread(generates ? small_plan() : training_alone(), on);
          spec.actor = *find_config("small");
          if (spec.critic) spec.critic = spec.reward = spec.actor;
          spec.seq_len = 256;
          spec.response_len = generates ? 128 : 0;
          spec.attention = attention;
          spec.setup.checkpoint = {checkpoint};
          specs.push_back(spec);
        }
      }
    }
  }
  for (const RlhfSpec& spec : share_by_day(specs, 5)) {
    const RlhfModels models(spec);
    EXPECT_LE(least_bytes(spec, added_up(spec, models)), worst_rank(spec, models).peak_bytes(false))
        << to_string(spec.setup.layout) << " checkpoint " << to_string(spec.setup.checkpoint)
        << (spec.generates() ? ", generates" : "");
  }
}

// The bound by which the search excludes plans without a rehearsal.
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
