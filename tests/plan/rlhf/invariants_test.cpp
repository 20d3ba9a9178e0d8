// Invariants of every plan, for 200 random ones with fixed seeds, and 1,000 in the nightly tests.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "model/parameter_table.h"
#include "plan/closed_form/formula.h"
#include "tests/plan/rlhf/small_plan.h"
#include "tests/support/at_night.h"

namespace headroom {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int64_t up_to(int64_t most) { return static_cast<int64_t>(generator_() % most) + 1; }
  bool coin() { return up_to(2) == 1; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + up_to(static_cast<int64_t>(values.size())) - 1);
  }

 private:
  std::mt19937 generator_;
};

ModelConfig random_model(Random& random, int64_t tp) {
  ModelConfig model{.name = "custom"};
  model.kv_heads = tp * random.up_to(3);
  model.heads = model.kv_heads * random.up_to(4);
  model.d_model = model.heads * 2 * random.up_to(16);
  model.d_ff = tp * random.up_to(200);
  model.layers = random.up_to(12);
  model.vocab_size = random.up_to(2000);
  return model;
}

RlhfSpec random_plan(Random& random) {
  RlhfSpec spec = small_plan();
  Layout& layout = spec.setup.layout;
  layout.tp = random.one_of<int64_t>({1, 2, 4, 8});
  spec.actor = random_model(random, layout.tp);
  spec.critic.reset();
  spec.reward.reset();
  if (random.coin()) spec.critic = random_model(random, layout.tp);
  if (random.coin()) spec.reward = random_model(random, layout.tp);
  int64_t layers = spec.actor.layers;
  if (spec.critic) layers = std::min(layers, spec.critic->layers);
  if (spec.reward) layers = std::min(layers, spec.reward->layers);
  layout.pp = random.up_to(layers);
  layout.dp = random.up_to(9);
  layout.zero = random.up_to(4) - 1;
  layout.sequence_parallel = random.coin();
  spec.num_gpus = layout.ranks();
  spec.batch_size = random.up_to(20);
  spec.setup.micro_batch_size = random.coin() ? random.up_to(spec.batch_size) : 0;
  spec.seq_len = random.up_to(200) + 1;
  spec.response_len = random.up_to(spec.seq_len) - 1;
  spec.setup.checkpoint = random.one_of<Checkpoint>({{CheckpointKind::kNone},
                                                     {CheckpointKind::kSelective},
                                                     {CheckpointKind::kFull},
                                                     {CheckpointKind::kEvery, 1},
                                                     {CheckpointKind::kBlocks, 50}});
  spec.setup.reference =
      random.one_of({Reference::kNone, Reference::kOffload, Reference::kResident});
  spec.setup.optimizer_space = random.one_of({MemorySpace::kDevice, MemorySpace::kHost});
  spec.setup.swap_phases = random.coin();
  spec.attention = random.one_of({Attention::kEager, Attention::kSdpa});
  spec.optimizer = random.one_of({OptimizerKind::kAdamw, OptimizerKind::kAdam8bit});
  const auto& precisions = state_precisions();
  spec.precision =
      precisions[static_cast<size_t>(random.up_to(static_cast<int64_t>(precisions.size()))) - 1];
  return spec;
}

// The peak from rows: a rehearsed peak also has a step's temporaries, and the allocator's rounding.
// Models do not depend on the layout and the techniques, only on the micro-batch.
int64_t peak(const RlhfSpec& spec, const RlhfModels& models) {
  return added_up(spec, models).peak_bytes(spec.setup.swap_phases);
}
int64_t peak(const RlhfSpec& spec) { return peak(spec, RlhfModels(spec)); }

const int kPlans = is_at_night() ? 1000 : 60;

void for_each_plan(const std::function<void(Random&, RlhfSpec&)>& check) {
  Random random(5);
  for (int i = 0; i < kPlans; ++i) {
    RlhfSpec spec = random_plan(random);
    ASSERT_NO_THROW(validate(spec)) << i;
    check(random, spec);
    ASSERT_FALSE(testing::Test::HasFailure())
        << "plan " << i << ": " << to_string(spec.setup.layout);
  }
}

TEST(RlhfInvariants, ComponentsSumToThePhase) {
  for_each_plan([](Random&, RlhfSpec& spec) {
    for (const RankMemory& memory : rank_memories(spec, RlhfModels(spec))) {
      for (const RlhfPhase phase : kRlhfPhases) {
        for (const bool swap : {false, true}) {
          EXPECT_EQ(sum(memory.in_phase(phase, swap)), memory.phase_bytes(phase, swap));
        }
      }
      EXPECT_LE(memory.peak_bytes(false), sum(memory.components));
      for (const Component& component : memory.components) EXPECT_GT(component.bytes, 0);
    }
  });
}

// Weights, over every tensor-parallel rank, stage and replica.
TEST(RlhfInvariants, EveryShardSetSumsToTheWhole) {
  for_each_plan([](Random&, RlhfSpec& spec) {
    const Layout& layout = spec.setup.layout;
    const ModelElements model = model_elements(spec.actor, Head::kPolicy);
    EXPECT_EQ(model.total(), parameter_count(spec.actor));
    const auto over_ranks = [&](const Extent& extent) {
      int64_t elements = 0;
      for (int64_t rank = 0; rank < layout.tp; ++rank) {
        elements += shard(extent.split, layout.tp, rank) +
                    extent.vocabulary * shard(spec.actor.vocab_size, layout.tp, rank);
      }
      return elements + extent.whole;
    };
    int64_t elements = 0;
    for (int64_t stage = 0; stage < layout.pp; ++stage) {
      if (stage == 0) elements += over_ranks(model.embedding);
      if (stage == layout.pp - 1) elements += over_ranks(model.final);
      elements += layers_of_stage(spec.actor.layers, layout.pp, stage) * over_ranks(model.block);
    }
    EXPECT_EQ(elements, model.total());
    const int64_t held = stage_elements(model, layout, 0).total();
    int64_t of_replicas = 0;
    for (int64_t i = 0; i < layout.dp; ++i) of_replicas += shard(held, layout.dp, i);
    EXPECT_EQ(of_replicas, held);
  });
}

// The skipped stages need no more than the considered ones.
TEST(RlhfInvariants, NoStageIsFullerThanTheWorst) {
  for_each_plan([](Random&, RlhfSpec& spec) {
    const RlhfModels models(spec);
    const int64_t worst = added_up(spec, models).peak_bytes(spec.setup.swap_phases);
    for (int64_t stage = 0; stage < spec.setup.layout.pp; ++stage) {
      EXPECT_LE(stage_memory(spec, models, stage).peak_bytes(spec.setup.swap_phases), worst)
          << "stage " << stage;
    }
  });
}

TEST(RlhfInvariants, MoreOffloadNeverNeedsMore) {
  for_each_plan([](Random&, RlhfSpec& spec) {
    const RlhfModels models(spec);
    RlhfSpec other = spec;
    spec.setup.optimizer_space = MemorySpace::kDevice;
    spec.setup.swap_phases = false;
    other.setup.swap_phases = true;
    other.setup.optimizer_space = MemorySpace::kDevice;
    EXPECT_LE(peak(other, models), peak(spec, models)) << "swapping";
    RlhfSpec offloaded = spec;
    offloaded.setup.optimizer_space = MemorySpace::kHost;
    EXPECT_LE(peak(offloaded, models), peak(spec, models)) << "optimizer";
    if (spec.setup.reference == Reference::kNone) return;
    RlhfSpec resident = spec;
    resident.setup.reference = Reference::kResident;
    RlhfSpec away = spec;
    away.setup.reference = Reference::kOffload;
    EXPECT_LE(peak(away, models), peak(resident, models)) << "reference";
  });
}

TEST(RlhfInvariants, ALargerBatchNeverNeedsLess) {
  for_each_plan([](Random& random, RlhfSpec& spec) {
    RlhfSpec larger = spec;
    larger.batch_size += random.up_to(10);
    EXPECT_LE(peak(spec), peak(larger));
    RlhfSpec longer = spec;
    longer.seq_len += random.up_to(50);
    EXPECT_LE(peak(spec), peak(longer));
  });
}

TEST(RlhfInvariants, MoreZeroNeverTakesMoreStates) {
  for_each_plan([](Random&, RlhfSpec& spec) {
    const RlhfModels models(spec);
    int64_t before = INT64_MAX;
    for (int64_t zero = 0; zero <= 3; ++zero) {
      spec.setup.layout.zero = zero;
      int64_t states = 0;
      for (const Component& component : stage_memory(spec, models, 0).components) {
        if (component.resident && component.kind != ComponentKind::kContext)
          states += component.bytes;
      }
      EXPECT_LE(states, before) << zero;
      before = states;
    }
  });
}

// Their assumptions agree if every head has its own keys and values, blocks of tokens are full,
// an entry has 2 bytes, and the model has the number of parameters in its name.
TEST(RlhfInvariants, ExactAndClosedFormAgreeWhereTheirAssumptionsDo) {
  Random random(7);
  for (int i = 0; i < kPlans; ++i) {
    RlhfSpec spec = small_plan();
    spec.actor = random_model(random, 1);
    spec.actor.kv_heads = spec.actor.heads;
    spec.batch_size = random.up_to(20);
    spec.seq_len = 16 * random.up_to(50);
    spec.response_len = spec.seq_len / 2;
    const double billions = static_cast<double>(parameter_count(spec.actor)) / 1e9;
    const ClosedFormModel model{"random", billions, spec.actor.d_model, spec.actor.layers};
    RankMemory memory = memory_of(spec);
    const auto agree = [&](double gigabytes, const char* name, RlhfPhase phase) {
      const auto ours = static_cast<double>(bytes_of(memory, name, phase));
      EXPECT_NEAR(gigabytes * 1e9, ours, 1e-6 * ours + 1e-3) << name;
    };
    agree(closed_form_kv_cache(model, spec.batch_size, spec.seq_len), "KV cache",
          RlhfPhase::kGeneration);
    const auto training = closed_form_phase(model, spec.batch_size, spec.seq_len, "training");
    agree(training[0].gigabytes, "Actor (weights)", RlhfPhase::kTraining);
    agree(training[2].gigabytes, "Actor (gradients)", RlhfPhase::kTraining);
    // One model's two FP32 moments: autocast's states have no master weights.
    spec.precision = find_state_precision("fp32");
    memory = memory_of(spec);
    agree(training[4].gigabytes, "Actor (optimizer)", RlhfPhase::kTraining);
  }
}

}  // namespace
}  // namespace headroom
