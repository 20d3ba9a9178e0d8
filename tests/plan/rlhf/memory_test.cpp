// One small model, every component by hand. BF16 weights, FP32 master weights: 2 + 2 + 12 bytes.
#include <gtest/gtest.h>

#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

constexpr int64_t kActor = 2536;
constexpr int64_t kCritic = 80 + 4 * 592 + 8 + 8;  // one output

TEST(RlhfMemory, StatesOfOneGpuAreBytesTimesParameters) {
  const RankMemory memory = memory_of(small_plan());
  EXPECT_EQ(bytes_of(memory, "Actor (weights)"), 2 * kActor);
  EXPECT_EQ(bytes_of(memory, "Actor (gradients)"), 2 * kActor);
  EXPECT_EQ(bytes_of(memory, "Actor (optimizer)"), 12 * kActor);
  EXPECT_EQ(bytes_of(memory, "Critic (weights)"), 2 * kCritic);
  EXPECT_EQ(bytes_of(memory, "Critic (gradients)"), 2 * kCritic);
  EXPECT_EQ(bytes_of(memory, "Critic (optimizer)"), 12 * kCritic);
  EXPECT_EQ(bytes_of(memory, "Reference model (weights)", RlhfPhase::kScoring), 2 * kActor);
  EXPECT_EQ(bytes_of(memory, "Reward model (weights)", RlhfPhase::kScoring), 2 * kCritic);
}

TEST(RlhfMemory, EveryPrecisionHasItsBytesPerParameter) {
  struct Case {
    const char* name;
    int64_t weight, gradient, optimizer;
  };
  for (const Case& expected : {Case{"fp32", 4, 4, 8}, Case{"tf32", 4, 4, 8}, Case{"bf16", 4, 4, 8},
                               Case{"bf16-mixed", 2, 2, 12}, Case{"bf16-fp32-grads", 2, 4, 12},
                               Case{"bf16-pure", 2, 2, 4}}) {
    RlhfSpec spec = small_plan();
    spec.precision = find_state_precision(expected.name);
    const RankMemory memory = memory_of(spec);
    EXPECT_EQ(bytes_of(memory, "Actor (weights)"), expected.weight * kActor) << expected.name;
    EXPECT_EQ(bytes_of(memory, "Actor (gradients)"), expected.gradient * kActor) << expected.name;
    EXPECT_EQ(bytes_of(memory, "Actor (optimizer)"), expected.optimizer * kActor) << expected.name;
  }
}

TEST(RlhfMemory, AutocastCastsEveryMatrixButTheTokenTable) {
  RlhfSpec spec = small_plan();
  spec.precision = find_state_precision("bf16");
  EXPECT_EQ(bytes_of(memory_of(spec), "Autocast's casts"), 2 * (kActor - 80 - 4 * 16 - 8));
}

TEST(RlhfMemory, EightBitMomentsOfALargeTensorHaveAScalePerBlockOf256) {
  constexpr int64_t kMaps = 4096;
  RlhfSpec spec = small_plan();
  spec.optimizer = OptimizerKind::kAdam8bit;
  EXPECT_EQ(bytes_of(memory_of(spec), "Actor (optimizer)"), 4 * kActor + 8 * kActor + kMaps)
      << "every tensor has fewer than 4096 elements";
  // Token table and output head have 8 x 1000 elements now, 32 blocks each.
  spec.actor.vocab_size = 1000;
  const int64_t others = kActor - 2 * 80;
  EXPECT_EQ(bytes_of(memory_of(spec), "Actor (optimizer)"),
            4 * (others + 16000) + 8 * others + 2 * (16000 + 4 * 64) + kMaps);
}

TEST(RlhfMemory, AShardOfEightBitMomentsIsOneTensor) {
  RlhfSpec spec = small_plan();
  spec.actor.vocab_size = 1000;
  spec.optimizer = OptimizerKind::kAdam8bit;
  spec.num_gpus = 2;
  spec.setup.layout.dp = 2;
  spec.setup.layout.zero = 1;
  const int64_t half = (kActor - 2 * 80 + 16000) / 2;
  EXPECT_EQ(bytes_of(memory_of(spec), "Actor (optimizer)"),
            4 * half + 2 * (half + 4 * ((half + 255) / 256)) + 4096);
}

TEST(RlhfMemory, AdamMiniHasASecondMomentForAHeadARowOrANorm) {
  RlhfSpec spec = small_plan();
  spec.optimizer = OptimizerKind::kAdamMini;
  const ModelConfig& shape = spec.actor;
  const int64_t of_layer =
      shape.heads + shape.kv_heads + shape.kv_dim() + 2 * shape.d_model + 2 * shape.d_ff + 2;
  const int64_t blocks = shape.layers * of_layer + 2 * shape.vocab_size + 1;
  EXPECT_EQ(bytes_of(memory_of(spec), "Actor (optimizer)"), 4 * kActor + 4 * (kActor + blocks));
}

TEST(RlhfMemory, TensorParallelismDividesMatricesAndLeavesNormsWhole) {
  RlhfSpec spec = small_plan();
  spec.num_gpus = 2;
  spec.setup.layout.tp = 2;
  const int64_t block = (592 - 16) / 2 + 16;
  const RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Actor (weights)"), 2 * (40 + 4 * block + 8 + 40));
  EXPECT_EQ(bytes_of(memory, "Critic (weights)"), 2 * (40 + 4 * block + 8 + 8))
      << "one output cannot be divided";
}

TEST(RlhfMemory, AnOddVocabularyGivesTheFirstRankOneRowMore) {
  RlhfSpec spec = small_plan();
  spec.actor.vocab_size = 11;
  spec.num_gpus = 2;
  spec.setup.layout.tp = 2;
  const int64_t block = (592 - 16) / 2 + 16;
  EXPECT_EQ(bytes_of(memory_of(spec), "Actor (weights)"), 2 * (6 * 8 + 4 * block + 8 + 6 * 8));
}

TEST(RlhfMemory, StagesTellTokenTableAndOutputHeadApart) {
  RlhfSpec spec = small_plan();
  spec.num_gpus = 4;
  spec.setup.layout.pp = 4;
  EXPECT_EQ(bytes_of(memory_of(spec, 0), "Actor (weights)"), 2 * (80 + 592));
  EXPECT_EQ(bytes_of(memory_of(spec, 1), "Actor (weights)"), 2 * 592);
  EXPECT_EQ(bytes_of(memory_of(spec, 3), "Actor (weights)"), 2 * (592 + 8 + 80));
  EXPECT_EQ(rank_in_words(spec, 0), "stage 0 of 4: token table, layers 0 to 0");
  EXPECT_EQ(rank_in_words(spec, 3), "stage 3 of 4: layers 3 to 3, output head");
  EXPECT_EQ(bytes_of(memory_of(spec, 1), "Logits and loss"), 0) << "the last stage has them";
}

TEST(RlhfMemory, EachZeroStageShardsOneThingMore) {
  RlhfSpec spec = small_plan();
  spec.num_gpus = 2;
  spec.setup.layout.dp = 2;
  const auto states = [&](int64_t zero) {
    spec.setup.layout.zero = zero;
    const RankMemory memory = memory_of(spec);
    return std::array{bytes_of(memory, "Actor (weights)"), bytes_of(memory, "Actor (gradients)"),
                      bytes_of(memory, "Actor (optimizer)")};
  };
  EXPECT_EQ(states(0), (std::array<int64_t, 3>{2 * kActor, 2 * kActor, 12 * kActor}));
  EXPECT_EQ(states(1), (std::array<int64_t, 3>{2 * kActor, 2 * kActor, 6 * kActor}));
  EXPECT_EQ(states(2), (std::array<int64_t, 3>{2 * kActor, kActor, 6 * kActor}));
  EXPECT_EQ(states(3), (std::array<int64_t, 3>{kActor, kActor, 6 * kActor}));
}

TEST(RlhfMemory, WhatIsGatheredAreTwoNeighbouringLayersAndForGenerationAll) {
  RlhfSpec spec = small_plan();
  spec.num_gpus = 2;
  spec.setup.layout = {.dp = 2, .zero = 3};
  const RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Gathered layers", RlhfPhase::kScoring), 2 * 2 * 592);
  EXPECT_EQ(bytes_of(memory, "Gathered layers (training)"), 2 * 2 * 592);
  EXPECT_EQ(bytes_of(memory, "Gradients in flight"), 2 * 2 * 592);
  EXPECT_EQ(bytes_of(memory, "Actor, gathered", RlhfPhase::kGeneration), 2 * kActor);
}

TEST(RlhfMemory, OffloadTakesTheOptimizerAndTheGradients) {
  RlhfSpec spec = small_plan();
  spec.setup.optimizer_space = MemorySpace::kHost;
  spec.num_gpus = 2;
  spec.setup.layout.dp = 2;
  RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Actor (optimizer)"), 0);
  EXPECT_EQ(bytes_of(memory, "Actor (gradients)"), 0);
  EXPECT_EQ(memory.host_bytes(false), 14 * (kActor + kCritic));
  spec.setup.layout.zero = 2;
  memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Actor (gradients)"), 0);
  EXPECT_EQ(bytes_of(memory, "Gradients in flight"), 2 * 2 * 592);
  EXPECT_EQ(memory.host_bytes(false), 14 * (kActor + kCritic) / 2);
}

// The same bound as in train/offload.
TEST(RlhfMemory, OffloadOnOneGpuTakesTheGradientsAsTheyAreMade) {
  RlhfSpec spec = small_plan();
  spec.setup.optimizer_space = MemorySpace::kHost;
  const RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Actor (gradients)"), 0);
  EXPECT_EQ(bytes_of(memory, "Gradients in flight"), 2 * 2 * 592);
  EXPECT_EQ(memory.host_bytes(false), 14 * (kActor + kCritic));
}

TEST(RlhfMemory, AnOffloadedReferenceIsHereTwoLayersAtATime) {
  RlhfSpec spec = small_plan();
  spec.setup.reference = Reference::kOffload;
  RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Reference model (weights)", RlhfPhase::kScoring), 2 * 2 * 592);
  EXPECT_EQ(memory.host_bytes(false), 2 * kActor);
  spec.setup.reference = Reference::kNone;
  memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Reference model (weights)", RlhfPhase::kScoring), 0);
}

TEST(RlhfMemory, TheCacheHasKeyValueHeadsAndWholeBlocksOfTokens) {
  RlhfSpec spec = small_plan();
  // keys and values x 4 layers x 2 heads x 2 dimensions x 2 bytes x 2 sequences x 16 tokens
  EXPECT_EQ(bytes_of(memory_of(spec), "KV cache", RlhfPhase::kGeneration),
            2 * 4 * 2 * 2 * 2 * 2 * 16);
  spec.seq_len = 17;
  EXPECT_EQ(bytes_of(memory_of(spec), "KV cache", RlhfPhase::kGeneration),
            2 * 4 * 2 * 2 * 2 * 2 * 32);
  spec.cache = ElementType::kFp8;
  EXPECT_EQ(bytes_of(memory_of(spec), "KV cache", RlhfPhase::kGeneration),
            2 * 4 * 2 * 2 * 1 * 2 * 32);
}

TEST(RlhfMemory, ExperienceIsTwoTensorsPerTokenAndSixPerResponseToken) {
  const RankMemory memory = memory_of(small_plan());
  EXPECT_EQ(bytes_of(memory, "Tokens and mask"), 2 * 16 * (8 + 8));
  EXPECT_EQ(bytes_of(memory, "PPO scores"), 2 * 6 * 6 * 4);
}

TEST(RlhfMemory, WithoutResponseThereIsOnlyTraining) {
  RlhfSpec spec = small_plan();
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.response_len = 0;
  spec.num_gpus = 2;
  spec.setup.layout = {.dp = 2, .zero = 3};
  const RankMemory memory = memory_of(spec);
  EXPECT_EQ(memory.phases, bit(RlhfPhase::kTraining));
  EXPECT_EQ(memory.peak_bytes(false), memory.phase_bytes(RlhfPhase::kTraining, false));
  EXPECT_EQ(bytes_of(memory, "PPO scores"), 0);
}

TEST(RlhfMemory, SwappingLeavesInAPhaseWhatItNeeds) {
  const RankMemory memory = memory_of(small_plan());
  for (const Component& component : memory.in_phase(RlhfPhase::kGeneration, /*swap_phases=*/true)) {
    EXPECT_TRUE(component.needed_in(RlhfPhase::kGeneration)) << component.name;
  }
  const int64_t idle = memory.phase_bytes(RlhfPhase::kGeneration, false) -
                       memory.phase_bytes(RlhfPhase::kGeneration, true);
  EXPECT_EQ(idle, 12 * (kActor + kCritic) + 2 * (kActor + 2 * kCritic));
}

TEST(RlhfMemory, TheContextIsTheCardsAndSaysWhetherItWasMeasured) {
  RlhfSpec spec = small_plan();
  for (const bool measured : {false, true}) {
    spec.card.context_measured = measured;
    for (const Component& component : memory_of(spec).components) {
      const bool context = component.name == std::string("CUDA context");
      const char* of_the_table = measured ? "measured" : "assumed";
      EXPECT_STREQ(component.basis, context ? of_the_table : "computed") << component.name;
    }
  }
  EXPECT_EQ(bytes_of(memory_of(spec), "CUDA context"), spec.card.context_bytes);
  EXPECT_EQ(bytes_of(memory_of(spec), "NCCL buffers"), 0) << "one GPU talks to none";
  spec.num_gpus = 2;
  spec.setup.layout.dp = 2;
  EXPECT_GT(bytes_of(memory_of(spec), "NCCL buffers"), 0);
}

}  // namespace
}  // namespace headroom
