#include "plan/fit/meshes/meshes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/cost/layout.h"
#include "plan/fit/meshes/mesh_sets.h"
#include "tests/plan/fit/fake_card.h"
#include "tests/plan/fit/tiny_run.h"
#include "text/quantity.h"

namespace headroom {
namespace {

const std::vector<Technique> kSpread = {Technique::kPipeline, Technique::kTensorParallel,
                                        Technique::kZero3, Technique::kZero12};

MeshQuestion meshes_of(int64_t gpus) { return {.gpus = gpus, .techniques = kSpread}; }

// With a few techniques, two of which change the states.
FitQuestion question_of_meshes(int64_t gpus) {
  FitQuestion question = question_of();
  question.meshes = meshes_of(gpus);
  const std::vector<Technique> few = {Technique::kOtherOptimizer,    Technique::kBf16Weights,
                                      Technique::kActivationOffload, Technique::kFp8Products,
                                      Technique::kCheckpoint,        Technique::kMicroBatches};
  std::erase_if(question.techniques, [&](const RunTechnique& one) {
    return std::find(few.begin(), few.end(), one.technique) == few.end();
  });
  return question;
}

TEST(Meshes, AreThoseThatTheStepRunsOn) {
  const RunSpec base = tiny_run(4);
  const ModelConfig config = model_config(base);
  std::set<std::string> names;
  for (const MeshRun& run : mesh_runs(base, meshes_of(8))) {
    EXPECT_NO_THROW(validate(run.spec)) << run.words;
    EXPECT_EQ(run.spec.mesh.ranks(), 8);
    EXPECT_TRUE(tp_divides(config, run.spec.mesh.size(MeshAxis::kTensor))) << run.words;
    EXPECT_LE(run.spec.mesh.size(MeshAxis::kPipeline), 4) << "one sequence for each stage";
    EXPECT_EQ(run.spec.sequence_parallel, run.spec.mesh.size(MeshAxis::kTensor) > 1);
    EXPECT_TRUE(names.insert(run.words).second) << run.words;
  }
  // With small's 12 heads tp is 1, 2 or 4; without replicas there is no ZeRO.
  EXPECT_EQ(names, (std::set<std::string>{"dp=8",
                                          "dp=8, ZeRO-1",
                                          "dp=8, ZeRO-2",
                                          "dp=8, ZeRO-3",
                                          "dp=4,tp=2",
                                          "dp=4,tp=2, ZeRO-1",
                                          "dp=4,tp=2, ZeRO-2",
                                          "dp=4,tp=2, ZeRO-3",
                                          "dp=2,tp=4",
                                          "dp=2,tp=4, ZeRO-1",
                                          "dp=2,tp=4, ZeRO-2",
                                          "dp=2,tp=4, ZeRO-3",
                                          "pp=2,dp=4",
                                          "pp=2,dp=4, ZeRO-1",
                                          "pp=2,dp=4, ZeRO-2",
                                          "pp=2,dp=4, ZeRO-3",
                                          "pp=2,dp=2,tp=2",
                                          "pp=2,dp=2,tp=2, ZeRO-1",
                                          "pp=2,dp=2,tp=2, ZeRO-2",
                                          "pp=2,dp=2,tp=2, ZeRO-3",
                                          "pp=2,tp=4",
                                          "pp=4,dp=2",
                                          "pp=4,dp=2, ZeRO-1",
                                          "pp=4,dp=2, ZeRO-2",
                                          "pp=4,dp=2, ZeRO-3",
                                          "pp=4,tp=2"}));
}

TEST(Meshes, TokensAreSplitWhereTheyDivide) {
  RunSpec base = tiny_run(1);
  base.context_length = 63;
  for (const MeshRun& run : mesh_runs(base, meshes_of(2))) {
    EXPECT_FALSE(run.spec.sequence_parallel) << run.words;
  }
}

TEST(Meshes, WhatIsTypedIsKeptAndCostsNothing) {
  RunSpec base = tiny_run(4);
  base.mesh = parse_mesh("--mesh", "pp=2,dp=2,tp=2");
  MeshQuestion question = meshes_of(8);
  question.keeps_mesh = true;
  const auto runs = mesh_runs(base, question);
  ASSERT_EQ(runs.size(), 4U);
  for (const MeshRun& run : runs) EXPECT_EQ(run.spec.mesh, base.mesh);
  EXPECT_EQ(runs.front().cost, Cost{});
  base.zero = 2;
  question.keeps_zero = true;
  ASSERT_EQ(mesh_runs(base, question).size(), 1U);
  EXPECT_EQ(mesh_runs(base, question).front().cost, Cost{});
}

TEST(Meshes, TechniquesThatMayNotBeUsedAreNot) {
  MeshQuestion question = meshes_of(8);
  question.techniques = {Technique::kZero12};
  for (const MeshRun& run : mesh_runs(tiny_run(8), question)) {
    EXPECT_EQ(run.spec.mesh.size(MeshAxis::kData), 8) << run.words;
    EXPECT_LT(run.spec.zero, 3) << run.words;
  }
}

TEST(Meshes, AGlobalBatchIsSharedByTheReplicas) {
  MeshQuestion question = meshes_of(8);
  question.global_batch = 12;
  const auto runs = mesh_runs(tiny_run(1), question);
  ASSERT_FALSE(runs.empty());
  for (const MeshRun& run : runs) {
    EXPECT_EQ(global_batch(run.spec), 12) << run.words;
    EXPECT_NE(run.spec.mesh.size(MeshAxis::kData), 8) << "8 do not divide 12";
  }
}

TEST(Meshes, WhyThereIsNoneIsSaid) {
  MeshQuestion question = meshes_of(8);
  question.global_batch = 3;
  question.techniques = {};
  std::string refused;
  EXPECT_TRUE(mesh_runs(tiny_run(1), question, &refused).empty());
  EXPECT_EQ(refused, "dp=8 does not divide the global batch");
}

TEST(MeshSets, RiseInCostAndCanAllBeRun) {
  const FitQuestion question = question_of_meshes(4);
  const auto sets = sets_of(question, FakeCard{.need = plain_need}.oracle());
  std::set<std::string> specs;
  for (size_t i = 0; i < sets.size(); ++i) {
    EXPECT_NO_THROW(validate(sets[i].spec)) << sets[i].in_words();
    EXPECT_GE(sets[i].spec.micro_batches, sets[i].spec.mesh.size(MeshAxis::kPipeline));
    EXPECT_TRUE(specs.insert(to_json(sets[i].spec).dump()).second) << sets[i].in_words();
    if (i == 0) continue;
    EXPECT_TRUE(question.order.is_cheaper(sets[i - 1].cost, sets[i].cost)) << sets[i].in_words();
  }
  EXPECT_EQ(sets.front().in_words(), "dp=4");
}

// The need of plain_need(), spread over a mesh.
int64_t spread_need(const RunSpec& spec) {
  const int64_t dp = spec.mesh.size(MeshAxis::kData);
  const int64_t shards = spec.mesh.ranks() / dp * (spec.zero > 0 ? dp : 1);
  return 200 + (plain_need(spec) + 40 * (3 - spec.zero)) / shards;
}

TEST(MeshSets, AreSearchedAsThoseOfOneGpu) {
  for (int64_t capacity = 230; capacity < 700; capacity += 41) {
    FitQuestion question = question_of_meshes(4);
    question.answers = 3;
    const FakeCard card{.capacity = capacity, .need = spread_need};
    const FitResult result = search_fit(question, card.oracle());
    const auto sets = sets_of(question, card.oracle());
    const auto fits = [&](const TechniqueSet& set) { return spread_need(set.spec) <= capacity; };
    const auto cheapest = std::find_if(sets.begin(), sets.end(), fits);
    ASSERT_EQ(result.answers.empty(), cheapest == sets.end()) << capacity;
    if (cheapest == sets.end()) {
      EXPECT_TRUE(result.nearest);
      continue;
    }
    EXPECT_EQ(result.answers[0].set.in_words(), cheapest->in_words());
    for (const FitAnswer& answer : result.answers) {
      EXPECT_EQ(answer.verdict.fits, Fits::kYes);
      ASSERT_EQ(answer.beyond.has_value(), answer.set.in_words() != "dp=4");
      if (answer.beyond) {
        EXPECT_EQ(answer.beyond->verdict.fits, Fits::kNo) << answer.beyond->what;
      }
    }
  }
}

// The largest value at which a set is valid and fits.
int64_t reach_of(const RunSpec& set, Open open, int64_t capacity, int64_t most) {
  int64_t reach = 0;
  const int64_t dp = set.mesh.size(MeshAxis::kData);
  for (int64_t value = 1; value <= most; ++value) {
    RunSpec spec = set;
    if (open == Open::kBatch) {
      if (value % (dp * spec.micro_batches) != 0) continue;
      spec.batch_size = value / dp;
    } else {
      if (value % spec.mesh.size(MeshAxis::kTensor) != 0) continue;
      spec.context_length = value;
    }
    try {
      validate(spec);
    } catch (const UsageError&) {
      continue;
    }
    if (spread_need(spec) > capacity) break;
    reach = value;
  }
  return reach;
}

class LargestOnMeshes : public testing::TestWithParam<Open> {};

TEST_P(LargestOnMeshes, ReachFurtherThanEveryCheaperSetAndNoneReachesFurther) {
  FitQuestion question = question_of_meshes(4);
  question.open = GetParam();
  question.answers = 100;
  question.most = GetParam() == Open::kBatch ? 128 : 1024;
  question.meshes.batch_is_open = GetParam() == Open::kBatch;
  question.meshes.context_is_open = GetParam() == Open::kContext;
  std::erase_if(question.techniques, [&](const RunTechnique& one) {
    return one.technique == Technique::kOtherOptimizer ||
           (GetParam() == Open::kBatch && one.technique == Technique::kMicroBatches);
  });
  const FakeCard card{.capacity = 520, .need = spread_need};
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_GT(result.answers.size(), 2U);
  // The same by trying every set and every value.
  std::vector<std::string> expected;
  int64_t beaten = 0;
  for (const TechniqueSet& set : sets_of(question, card.oracle())) {
    const int64_t reach = reach_of(set.spec, GetParam(), 520, question.most);
    if (reach <= beaten) continue;
    beaten = reach;
    expected.push_back(set.in_words() + " " + std::to_string(reach));
  }
  std::vector<std::string> found;
  for (const FitAnswer& answer : result.answers) {
    found.push_back(answer.set.in_words() + " " + std::to_string(answer.value));
    const bool at_end = answer.value + 16 * 4 > question.most;
    EXPECT_TRUE(answer.beyond || at_end) << found.back();
    if (answer.beyond) {
      EXPECT_EQ(answer.beyond->verdict.fits, Fits::kNo) << found.back();
    }
    if (GetParam() == Open::kBatch) {
      EXPECT_EQ(global_batch(answer.set.spec), answer.value);
    }
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Fit, LargestOnMeshes, testing::Values(Open::kBatch, Open::kContext));

TEST(MeshSets, HaveWhatLiesOnTheHostAndReleasedGradientsWhereTheStepDoes) {
  FitQuestion question = question_of();
  question.meshes = meshes_of(4);
  std::erase_if(question.techniques, [&](const RunTechnique& one) {
    return one.technique != Technique::kParameterOffload &&
           one.technique != Technique::kOptimizerOffload &&
           one.technique != Technique::kActivationOffload &&
           one.technique != Technique::kMicroBatches &&
           one.technique != Technique::kReleaseGradients;
  });
  std::set<std::string> weights, states, activations, released;
  for (const TechniqueSet& set : sets_of(question, FakeCard{.need = plain_need}.oracle())) {
    if (set.spec.param_offload.any()) weights.insert(set.mesh);
    if (set.spec.optimizer_offload.any()) states.insert(set.mesh);
    if (set.spec.activations.offloaded()) activations.insert(set.mesh);
    if (set.spec.release_gradients) released.insert(set.mesh);
  }
  std::set<std::string> all, without_zero;
  for (const MeshRun& run : mesh_runs(question.base, question.meshes)) {
    all.insert(run.words);
    if (run.spec.zero == 0) without_zero.insert(run.words);
  }
  EXPECT_EQ(states, all);
  EXPECT_EQ(activations, all);
  EXPECT_EQ(weights, without_zero);
  EXPECT_EQ(released, std::set<std::string>{"tp=4"})
      << "replicas add up, stages have micro-batches";
}

// The need with all techniques for activations.
int64_t least_need(const RunSpec& spec) {
  RunSpec least = spec;
  least.checkpoint = parse_checkpoint("--recompute", "full");
  least.attention = Attention::kSdpa;
  least.activations = parse_activations("int8");
  least.precision = Precision::kFp8;
  least.micro_batches = least.batch_size;
  return spread_need(least);
}

TEST(MeshSets, WhoseStatesAreTooLargeStandAloneAndChangeNoAnswer) {
  FitQuestion question = question_of_meshes(4);
  question.answers = 3;
  const FakeCard card{.capacity = 330, .need = spread_need};
  FitOracle oracle = card.oracle();
  const FitResult all = search_fit(question, oracle);
  oracle.states = least_need;
  const FitResult pruned = search_fit(question, oracle);
  EXPECT_LT(pruned.sets, all.sets);
  ASSERT_EQ(pruned.answers.size(), all.answers.size());
  for (size_t i = 0; i < all.answers.size(); ++i) {
    EXPECT_EQ(pruned.answers[i].set.in_words(), all.answers[i].set.in_words());
  }
}

TEST(MeshSets, OfTheSmallestStatesHaveAllTechniquesWhereNothingFits) {
  const FitQuestion question = question_of_meshes(4);
  const FakeCard card{.capacity = 10, .need = spread_need};
  int64_t least = INT64_MAX;
  for (const TechniqueSet& set : sets_of(question, card.oracle())) {
    least = std::min(least, spread_need(set.spec));
  }
  FitOracle oracle = card.oracle();
  oracle.states = least_need;
  const FitResult result = search_fit(question, oracle);
  ASSERT_TRUE(result.nearest);
  EXPECT_EQ(result.nearest->need, least);
  EXPECT_EQ(card.runs.size(), 1U);
}

}  // namespace
}  // namespace headroom
