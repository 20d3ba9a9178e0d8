#include "train/settings/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;

std::string refusal_of_run(const RunSpec& spec) {
  try {
    validate(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Limits, ActivationsBeyondSixtyTwoBitsAreRefusedWithTheFlagsThatMakeThem) {
  const std::string line =
      refusal_of_run({.model_size = "405b", .context_length = 1 << 20, .batch_size = 1024});
  EXPECT_THAT(line, HasSubstr("--batch-size: '1024' with --context-length 1048576"));
  EXPECT_THAT(line, HasSubstr("--attention eager"));
  EXPECT_THAT(line, HasSubstr("2^62"));
  EXPECT_THAT(line, testing::Not(HasSubstr("\n")));
  EXPECT_EQ(refusal_of_run({.model_size = "405b",
                            .context_length = 1 << 20,
                            .batch_size = 1024,
                            .precision = Precision::kBf16,
                            .attention = Attention::kSdpa}),
            "accepted")
      << "no square of scores is kept";
  EXPECT_THAT(refusal_of_run({.model_size = "405b",
                              .context_length = 1 << 20,
                              .batch_size = 1024,
                              .attention = Attention::kSdpa}),
              HasSubstr("2^62"))
      << "FP32 with grouped heads runs the math kernel";
}

TEST(Limits, StatesAndTokensBeyondThemAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const std::string states = refusal_of_run({.d_model = int64_t{1} << 32, .heads = 1 << 20});
  EXPECT_THAT(states, HasSubstr("--model-size: 'custom' with --layers 12, --d-model 4294967296"));
  EXPECT_THAT(refusal_of_run({.d_model = 1 << 20, .heads = 1 << 10, .vocab_size = kHuge}),
              HasSubstr("and --vocab-size 1099511627776 may have states beyond 2^62 bytes"));
  EXPECT_THAT(refusal_of_run({.d_model = 2,
                              .d_ff = 1,
                              .layers = 1,
                              .heads = 1,
                              .vocab_size = 1,
                              .context_length = 1 << 24,
                              .batch_size = 1 << 24,
                              .attention = Attention::kSdpa,
                              .measure_steps = 100000}),
              HasSubstr("--measure-steps: '100000' with --context-length 16777216"));
}

TEST(Limits, WhatSomebodyMayAskAboutIsNot) {
  for (const ModelConfig& config : named_configs()) {
    RunSpec spec{.model_size = config.name, .profile_type = Mode::kTraining};
    for (const int64_t context : {512, 4096, 131072}) {
      spec.context_length = context;
      spec.batch_size = context == 512 ? 65536 : context == 4096 ? 1024 : 16;
      EXPECT_EQ(refusal_of_run(spec), "accepted") << config.name << " " << context;
    }
    spec.context_length = 1 << 20;
    spec.batch_size = 1;
    EXPECT_EQ(refusal_of_run(spec), "accepted") << config.name;
  }
}

}  // namespace
}  // namespace headroom
