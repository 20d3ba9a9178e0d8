#include "plan/fit/questions/asked_card.h"

#include <gtest/gtest.h>

#include "bench/process/cores.h"
#include "plan/cost/fullest_ranks.h"
#include "plan/fit/questions/need.h"
#include "plan/fit/sets/technique_sets.h"
#include "tests/plan/fit/tiny_run.h"
#include "tests/support/at_night.h"

namespace headroom {
namespace {

CellOptions cold() { return {.program = HEADROOM_CELL_PROGRAM}; }

CellOptions warm() {
  CellOptions options = cold();
  options.workers = std::make_shared<WarmWorkers>(4 * cores());
  return options;
}

RunSpec tiny_with(const std::map<std::string, std::string>& fields) {
  RunSpec spec = tiny_run(4);
  spec.layers = 12;
  for (const auto& [name, value] : fields) find_field(name)->set(spec, value);
  return spec;
}

TEST(AskedCard, NeedsWhatTheRunHasAllocated) {
  AskedCard asked(warm());
  for (const char* optimizer : {"adamw", "adam8bit"}) {
    const RunSpec spec = tiny_with({{"optimizer", optimizer}});
    const int64_t need = asked.need(spec);
    EXPECT_EQ(need, run_cell(spec, cold()).peak->allocated) << optimizer;
    EXPECT_EQ(need, predicted_need(spec)) << "the rehearsal says the same";
  }
}

TEST(AskedCard, FitsWhereTheRunGoesThrough) {
  AskedCard asked(warm());
  RunSpec spec = tiny_with({});
  spec.device.bytes = "20GiB";
  EXPECT_TRUE(asked.fits(spec));
  spec.device.bytes = "2GiB";
  EXPECT_FALSE(asked.fits(spec));
  EXPECT_EQ(asked.need(spec), predicted_need(spec)) << "its own card has no room for it";
}

// A run may be impossible for other reasons than memory, which its cell reports.
TEST(AskedCard, LeavesARunThatCannotBeToItsCell) {
  AskedCard asked(warm());
  RunSpec spec = tiny_with({{"attention", "flash"}, {"precision", "fp32"}});
  EXPECT_TRUE(asked.fits(spec));
  EXPECT_GT(asked.need(spec), int64_t{1} << 60);
}

TEST(AskedCard, BoundsThePeakOfEveryTechniqueFromBelow) {
  const CellOptions options = warm();
  AskedCard asked(options);
  const RunSpec base = tiny_with({});
  for (const RunTechnique& technique : technique_list(base)) {
    for (const TechniqueSet& set :
         share_by_day(technique_sets(base, {technique}, CostOrder()), 2)) {
      const Record record = run_cell(set.spec, options);
      ASSERT_EQ(record.status, Status::kOk) << set.in_words() << ": " << record.reason;
      const int64_t least = asked.least(set.spec);
      EXPECT_LE(least, record.peak->requested) << set.in_words();
      EXPECT_GE(least, record.peak->requested / 2) << set.in_words();
    }
  }
}

TEST(AskedCard, KnowsNoBoundOfAFewLayersOrOfAMesh) {
  AskedCard asked(warm());
  EXPECT_EQ(asked.least(tiny_run(4)), 0);
  EXPECT_EQ(asked.least(tiny_with({{"mesh", "dp=2"}})), 0);
}

// One worker serves ranks of several meshes in turn, with the same results as new processes.
TEST(AskedCard, RanksThatRunAloneAreServedAsNewProcessesAre) {
  CellOptions one_by_one = warm();
  CellOptions each_new = cold();
  for (const char* zero : share_by_day<const char*>({"3", "0"}, 2)) {
    const RunSpec spec = tiny_with({{"mesh", "pp=2,dp=2"}, {"micro_batches", "4"}, {"zero", zero}});
    for (const int64_t rank : {int64_t{0}, int64_t{3}, int64_t{0}}) {
      one_by_one.ranks = each_new.ranks = {.kind = RankChoice::Kind::kListed, .ranks = {rank}};
      const Record served = run_cell(spec, one_by_one);
      const Record alone = run_cell(spec, each_new);
      ASSERT_EQ(served.status, Status::kOk) << served.reason;
      EXPECT_EQ(served.peak->allocated, alone.peak->allocated) << "ZeRO " << zero;
      EXPECT_EQ(served.peak->reserved, alone.peak->reserved) << "ZeRO " << zero;
      EXPECT_EQ(to_json(served)["ranks"], to_json(alone)["ranks"]) << "ZeRO " << zero;
    }
  }
}

TEST(AskedCard, NeedsOnAMeshWhatTheFullestStageHasAndNccl) {
  AskedCard asked(warm());
  const RunSpec spec = tiny_with({{"mesh", "pp=2,tp=2"}, {"micro_batches", "4"}});
  EXPECT_EQ(asked.need(spec), predicted_need(spec));
}

}  // namespace
}  // namespace headroom
