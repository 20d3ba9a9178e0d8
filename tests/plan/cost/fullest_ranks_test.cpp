#include "plan/cost/fullest_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/fit/answers/command_line.h"
#include "plan/fit/meshes/meshes.h"
#include "plan/fit/questions/need.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/ranks/distinct_replicas.h"
#include "profiling/theory/ranks/rank_host.h"
#include "tests/plan/fit/tiny_run.h"
#include "tests/support/at_night.h"
#include "text/quantity.h"

namespace headroom {
namespace {

RunSpec tiny(const std::string& mesh, int64_t batch_size = 4) {
  RunSpec spec = tiny_run(batch_size);
  if (!mesh.empty()) spec.mesh = parse_mesh("--mesh", mesh);
  return spec;
}

void set(RunSpec& spec, std::string_view field, const std::string& value) {
  find_field(field)->set(spec, value);
}

bool is_valid(const RunSpec& spec) {
  try {
    validate(spec);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// Adds techniques to a run, in turn.
void add_techniques(RunSpec& spec, size_t turn) {
  if (turn % 2 == 0) set(spec, "checkpoint", "full");
  if (turn % 3 == 0) spec.attention = Attention::kSdpa;
}

// Meshes with techniques, for a model whose layers no number of stages divides.
std::vector<RunSpec> meshes_with_techniques() {
  const MeshQuestion question{.gpus = 8,
                              .techniques = {Technique::kPipeline, Technique::kTensorParallel,
                                             Technique::kZero3, Technique::kZero12}};
  std::vector<RunSpec> specs;
  for (const MeshRun& run : mesh_runs(tiny(""), question)) {
    for (const char* weights : {"fp32", "bf16"}) {
      RunSpec spec = run.spec;
      set(spec, "weights", weights);
      if (spec.mesh.size(MeshAxis::kPipeline) > 1) spec.micro_batches = 4;
      add_techniques(spec, specs.size());
      specs.push_back(spec);
    }
  }
  return specs;
}

// The same with offloading to the host, and with released gradients.
std::vector<RunSpec> meshes_with_offload() {
  std::vector<RunSpec> specs;
  const auto add = [&](const RunSpec& spec) {
    if (is_valid(spec)) specs.push_back(spec);
  };
  for (const RunSpec& mesh : meshes_with_techniques()) {
    if (mesh.weights == WeightType::kBf16) continue;
    RunSpec states = mesh;
    set(states, "optimizer_offload", "cpu");
    add(states);
    set(states, "activations", "offload");
    add(states);
    set(states, "param_offload", "cpu");
    add(states);
    RunSpec released = mesh;
    released.micro_batches = 1;
    set(released, "release_gradients", "true");
    add(released);
  }
  return specs;
}

int64_t card_of(const RunSpec& spec, int64_t rank) {
  return predicted_peak(spec, Head::kLanguage, rank).allocated + nccl_bytes_of(spec, rank);
}

int64_t most_of_all_ranks(const RunSpec& spec) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < spec.mesh.ranks(); ++rank) {
    most = std::max(most, card_of(spec, rank));
  }
  return most;
}

TEST(FullestRanks, TheFullestOfAllIsAmongThem) {
  for (const auto& specs : {meshes_with_techniques(), meshes_with_offload()}) {
    ASSERT_GT(specs.size(), 40U);
    for (const RunSpec& spec : share_by_day(specs, 9)) {
      const int64_t most = most_of_all_ranks(spec);
      EXPECT_EQ(predicted_need(spec), most) << row_name(spec);
      const std::vector<int64_t> run = fullest_ranks(spec);
      EXPECT_TRUE(std::any_of(run.begin(), run.end(), [&](int64_t rank) {
        return card_of(spec, rank) == most;
      })) << row_name(spec);
    }
  }
}

// 2 layers; every number of replicas cuts the parts at other places.
TEST(FullestRanks, OfManyReplicasTheFullestIsAmongThem) {
  std::vector<RunSpec> specs;
  for (const char* mesh :
       {"dp=11", "dp=19", "dp=24", "dp=37", "dp=64", "pp=2,dp=20", "dp=17,tp=2"}) {
    for (const char* zero : {"1", "2", "3"}) {
      RunSpec spec = tiny(mesh);
      spec.layers = 2;
      if (spec.mesh.size(MeshAxis::kPipeline) > 1) spec.micro_batches = 4;
      set(spec, "zero", zero);
      set(spec, "optimizer", *zero == '2' ? "adam8bit" : "adamw");
      specs.push_back(spec);
    }
  }
  for (RunSpec spec : share_by_day(specs, 5)) {
    EXPECT_EQ(predicted_need(spec), most_of_all_ranks(spec)) << row_name(spec);
    set(spec, "weights", "bf16");
    set(spec, "rounding", "stochastic");
    EXPECT_EQ(predicted_need(spec), most_of_all_ranks(spec)) << row_name(spec);
  }
}

TEST(FullestRanks, OfAThousandReplicasOneOfEachKindIsRehearsed) {
  RunSpec spec = tiny("dp=1024");
  spec.layers = 2;
  EXPECT_EQ(ranks_that_can_be_fullest(spec), std::vector<int64_t>{0});
  spec.zero = 3;
  const std::vector<int64_t> ranks = ranks_that_can_be_fullest(spec);
  EXPECT_LT(ranks.size(), 40U);
  EXPECT_EQ(ranks.front(), 0);
  const int64_t fullest = predicted_fullest(spec).allocated;
  for (int64_t rank = 0; rank < 1024; rank += 31) {
    EXPECT_LE(predicted_peak(spec, Head::kLanguage, rank).allocated, fullest) << rank;
  }
  // Copies are equal: of 1,024 replicas in groups of 8, only the first group is considered.
  spec.shard_group = 8;
  for (const int64_t rank : ranks_that_can_be_fullest(spec)) EXPECT_LT(rank, 8);
}

TEST(FullestRanks, OneOfEachStageThatCanBeFullestIsRun) {
  RunSpec spec = tiny("pp=4,dp=2");
  spec.micro_batches = 4;
  EXPECT_EQ(fullest_ranks(spec), (std::vector<int64_t>{0, 2, 6})) << "1, 2, 1 and 1 layers";
  spec.zero = 1;
  const std::vector<int64_t> ranks = fullest_ranks(spec);
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_NE(std::find(ranks.begin(), ranks.end(), predicted_fullest(spec).rank), ranks.end());
  EXPECT_TRUE(profile_command(spec, {}, {0, 2, 6}).ends_with(" --rank 0,2,6"));
}

// The middle stage's peak is lower than the first's, but NCCL keeps buffers for two neighbours.
TEST(FullestRanks, AStageBetweenTwoOthersCanBeFullest) {
  RunSpec spec = tiny("pp=4");
  spec.layers = 4;
  spec.micro_batches = 4;
  EXPECT_EQ(nccl_bytes_of(spec, 1), 2 * nccl_bytes_of(spec, 0));
  EXPECT_EQ(nccl_bytes_of(spec, 3), nccl_bytes_of(spec, 0));
  const FullestRank fullest = predicted_fullest(spec);
  EXPECT_EQ(fullest.rank, 1);
  EXPECT_LT(fullest.allocated, predicted_peak(spec, Head::kLanguage, 0).allocated);
  EXPECT_EQ(fullest_ranks(spec), (std::vector<int64_t>{0, 1, 3}));
}

TEST(FullestRanks, TheFloorIsNeverAboveTheirNeed) {
  for (const auto& specs : {meshes_with_techniques(), meshes_with_offload()}) {
    for (const RunSpec& spec : share_by_day(specs, 5)) {
      EXPECT_LE(floor_bytes(spec) + nccl_bytes_of(spec, 0), predicted_need(spec)) << row_name(spec);
      EXPECT_LE(states_bytes(spec), floor_bytes(spec)) << row_name(spec);
    }
  }
}

TEST(FullestRanks, ARunFitsWhereTheyDo) {
  for (const RunSpec& spec : share_by_day(meshes_with_techniques(), 5)) {
    const int64_t need = predicted_need(spec);
    EXPECT_FALSE(predicted_to_fit(spec, need - 512)) << row_name(spec);
    EXPECT_TRUE(predicted_to_fit(spec, 2 * need)) << row_name(spec);
  }
}

// A step that fails in the middle leaves a stage's micro-batches, some of them on the host.
TEST(FullestRanks, AStageThatDoesNotFitIsRefusedWhatItOffloaded) {
  RunSpec spec = tiny("pp=2", 8);
  spec.micro_batches = 8;
  set(spec, "activations", "offload");
  const int64_t peak = predicted_peak(spec).allocated;
  for (int64_t part = 2; part < 32; ++part) {
    EXPECT_FALSE(rehearsed_to_fit(spec, peak * part / 33)) << part;
  }
}

// For one rank the rehearsal's host memory equals the sum of the rows.
TEST(HostOfRanks, OfOneRankIsWhatRowsSay) {
  for (const char* checkpoint : {"none", "full"}) {
    for (const int64_t micro_batches : {1, 2}) {
      RunSpec spec = tiny("");
      set(spec, "checkpoint", checkpoint);
      set(spec, "optimizer_offload", "cpu");
      set(spec, "param_offload", "cpu");
      set(spec, "activations", "offload");
      spec.micro_batches = micro_batches;
      const HostNeed rows = predicted_host_need(spec);
      const RankHost rank = rehearsed_host(spec, 0);
      EXPECT_EQ(rank.pinned, rows.pinned) << row_name(spec);
      EXPECT_EQ(rank.pageable, rows.pageable) << row_name(spec);
    }
  }
}

// Replicas without sharding keep all states, those with sharding divide them.
TEST(HostOfRanks, GoesByWhatEachHas) {
  RunSpec whole = tiny("dp=4");
  set(whole, "optimizer_offload", "cpu");
  RunSpec shared = whole;
  shared.zero = 1;
  RunSpec stages = tiny("pp=4");
  stages.micro_batches = 4;
  set(stages, "optimizer_offload", "cpu");
  const int64_t all = predicted_host_need(whole).pageable;
  EXPECT_NEAR(static_cast<double>(predicted_host_need(shared).pageable), all / 4.0, all / 100.0);
  EXPECT_LT(predicted_host_need(stages).pageable, all);
  EXPECT_EQ(predicted_host_need(tiny("dp=4")).bytes(), 0);
}

}  // namespace
}  // namespace headroom
