// The guides' figures, as printed there.
#include "plan/closed_form/formula.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/closed_form/report.h"
#include "tests/plan/rlhf/small_plan.h"
#include "text/quantity.h"

namespace headroom {
namespace {

double rounded(double value, int decimals) {
  const double scale = std::pow(10, decimals);
  return std::round(value * scale) / scale;
}

TEST(ClosedForm, Prints70bAtBatch4And2048Tokens) {
  const ClosedFormModel& model = find_closed_form_model("70b");
  EXPECT_EQ(rounded(closed_form_kv_cache(model, 4, 2048), 1), 21.5);
  EXPECT_EQ(rounded(closed_form_activations(model, 4, 2048), 1), 107.4);
  const auto everything = closed_form_phase(model, 4, 2048, "full_rlhf");
  EXPECT_EQ(rounded(total_gigabytes(everything), 1), 1528.8);
  EXPECT_EQ(everything[4].name, "Optimizer States");
  EXPECT_EQ(everything[4].gigabytes, 560.0);
  EXPECT_EQ(rounded(total_gigabytes(closed_form_phase(model, 4, 2048, "generation")), 1), 443.5);
  EXPECT_EQ(rounded(total_gigabytes(closed_form_phase(model, 4, 2048, "scoring")), 1), 161.5);
  EXPECT_EQ(rounded(total_gigabytes(closed_form_phase(model, 4, 2048, "training")), 1), 1227.4);
}

TEST(ClosedForm, PrintsTheZeroTableOf7bOn8Gpus) {
  const double expected[] = {56, 31.5, 19.25, 7};
  for (int64_t stage = 0; stage <= 3; ++stage) {
    EXPECT_EQ(zero_gigabytes(7, {}, stage, 8), expected[stage]) << stage;
  }
}

// ZeRO paper (Rajbhandari et al. 2020, figure 1): 7.5B parameters on 64 GPUs, 2 + 2 + 12 bytes.
TEST(ClosedForm, TheSameRuleGivesTheZeroPapersFigures) {
  const double expected[] = {120, 31.4, 16.6, 1.9};
  for (int64_t stage = 0; stage <= 3; ++stage) {
    EXPECT_EQ(rounded(zero_gigabytes(7.5, {2, 2, 12}, stage, 64), 1), expected[stage]) << stage;
  }
}

TEST(ClosedFormReport, HasOursBesideAndTheRestOfOursSoThatBothSumUp) {
  RlhfSpec spec = small_plan();
  spec.actor = *find_config("70b");
  spec.critic = spec.reward = spec.actor;
  spec.batch_size = 4;
  spec.seq_len = 2048;
  spec.response_len = 1024;
  const std::vector<Table> tables = closed_form_report(spec);
  for (size_t i = 0; i < 4; ++i) {
    const auto& rows = tables[i].rows;
    for (const size_t column : {1U, 2U}) {
      double sum = 0;
      for (size_t row = 0; row + 1 < rows.size(); ++row) sum += std::stod(rows[row][column]);
      EXPECT_NEAR(sum, std::stod(rows.back()[column]), 0.06 * static_cast<double>(rows.size()))
          << tables[i].title;
    }
    for (size_t row = 0; row + 2 < rows.size(); ++row) EXPECT_NE(rows[row][3], "") << "why";
  }
}

TEST(ClosedFormReport, KnowsTheFourModelsOfTheGuide) {
  EXPECT_THROW(find_closed_form_model("2.7B"), UsageError);
}

}  // namespace
}  // namespace headroom
