#include <gtest/gtest.h>

#include "plan/rlhf/report.h"
#include "plan/rlhf/timeline.h"
#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

const Table& titled(const std::vector<Table>& tables, const std::string& start) {
  for (const Table& table : tables) {
    if (table.title.starts_with(start)) return table;
  }
  throw std::invalid_argument(start);
}

TEST(Advice, GrowsWithTheBatchLineByLine) {
  const Table table = titled(advice_report(RlhfPlan(small_plan())), "Memory that grows");
  ASSERT_EQ(table.rows.size(), 6U);
  for (size_t i = 1; i < table.rows.size(); ++i) {
    EXPECT_EQ(std::stoll(table.rows[i][2]), 2 * std::stoll(table.rows[i - 1][2])) << "KV cache";
  }
}

// 10^9 tokens with a vocabulary of 10^8: 2 x 10^18 bytes of logits. Eight times that overflows.
TEST(Advice, LeavesOutBatchesBeyondWhatItCanAddUp) {
  RlhfSpec spec = small_plan();
  spec.actor = {.name = "custom",
                .d_model = 2,
                .d_ff = 2,
                .layers = 1,
                .heads = 1,
                .kv_heads = 1,
                .vocab_size = 100'000'000};
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.batch_size = 1;
  spec.precision = find_state_precision("bf16");
  spec.seq_len = 1'000'000'000;
  spec.response_len = 1;
  ASSERT_NO_THROW(validate(spec));
  const RlhfPlan plan(spec);
  const Table table = titled(advice_report(plan), "Memory that grows");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_GT(std::stoll(table.rows[0][4]), 1'900'000'000'000'000'000);
  for (const Table& phase : phase_report(plan, {.bars = true, .ascii = true})) {
    if (!phase.title.starts_with("Phase: training")) continue;
    EXPECT_EQ(phase.rows.front()[3], std::string(30, '#')) << "the longest bar";
  }
  EXPECT_EQ(svg(timeline(plan), "large").find("=\"-"), std::string::npos) << "negative sizes";
}

}  // namespace
}  // namespace headroom
