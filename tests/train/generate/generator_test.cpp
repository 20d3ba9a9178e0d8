#include "train/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "text/quantity.h"
#include "train/build.h"
#include "train/generate/generate.h"
#include "train/generate/rules.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr int64_t kResponse = 9;

RunSpec generating_spec(KvCacheForm form) {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kGenerate;
  spec.kv_heads = 2;
  spec.context_length = 40;
  spec.attention = Attention::kSdpa;
  spec.response_len = kResponse;
  spec.prompt_len = 21;
  spec.kv_cache = form;
  spec.batch_size = 4;
  return spec;
}

Prompts ragged_prompts() {
  torch::manual_seed(5);
  return {torch::randint(50, {4, 21}, torch::kInt64), {21, 3, 1, 17}};
}

std::unique_ptr<Step> build(const RunSpec& spec) {
  std::vector<std::string> notes;
  return build_step(spec, torch::kCPU, &notes);
}

// Greedy generation with a full forward for every token.
std::vector<int64_t> without_a_cache(Step& step, Tensor tokens_S, int64_t end_token) {
  const torch::NoGradGuard no_grad;
  for (int64_t i = 0; i < kResponse; ++i) {
    const Tensor logits = step.model()->forward(tokens_S.unsqueeze(0));
    const Tensor next = logits[0][-1].argmax(-1, /*keepdim=*/true);
    tokens_S = torch::cat({tokens_S, next});
    if (next.item<int64_t>() == end_token) break;
  }
  return {tokens_S.const_data_ptr<int64_t>(),
          tokens_S.const_data_ptr<int64_t>() + tokens_S.numel()};
}

std::vector<int64_t> sequence_of(const Generated& generated, int64_t i) {
  const Tensor row = generated.tokens_BT[i].contiguous();
  const auto* begin = row.const_data_ptr<int64_t>();
  return {begin, begin + generated.lengths[static_cast<size_t>(i)]};
}

class Generators : public ::testing::TestWithParam<std::tuple<KvCacheForm, int64_t, int64_t>> {};

// An end token that ends some sequences early: the most frequently generated one.
int64_t frequent_token(const std::vector<std::vector<int64_t>>& sequences, const Prompts& prompts) {
  std::vector<int64_t> counts(50);
  for (size_t i = 0; i < sequences.size(); ++i) {
    for (size_t t = static_cast<size_t>(prompts.lengths[i]); t < sequences[i].size(); ++t) {
      ++counts[static_cast<size_t>(sequences[i][t])];
    }
  }
  int64_t most = 0;
  for (int64_t token = 1; token < 50; ++token) {
    if (counts[static_cast<size_t>(token)] > counts[static_cast<size_t>(most)]) most = token;
  }
  return most;
}

TEST_P(Generators, GreedyTokensAreThoseOfWholeForwards) {
  const auto [form, chunk, room] = GetParam();
  RunSpec spec = generating_spec(form);
  spec.prefill_chunk = chunk;
  spec.kv_cache_tokens = room;
  const auto step = build(spec);
  const Prompts prompts = ragged_prompts();
  int64_t end_token = -1;
  for (int pass = 0; pass < 2; ++pass) {  // without an end token, then with one
    Generation settings = generation_of(spec, torch::kCPU);
    settings.end_token = end_token;
    const Generated generated = generate(*step, settings, prompts);
    std::vector<std::vector<int64_t>> all;
    for (int64_t i = 0; i < 4; ++i) {
      const Tensor prompt =
          prompts.tokens_BP[i].narrow(0, 0, prompts.lengths[static_cast<size_t>(i)]);
      all.push_back(without_a_cache(*step, prompt, end_token));
      EXPECT_EQ(sequence_of(generated, i), all.back()) << i;
      const int64_t end = generated.lengths[static_cast<size_t>(i)];
      EXPECT_EQ(generated.tokens_BT[i]
                    .narrow(0, end, generated.tokens_BT.size(1) - end)
                    .count_nonzero()
                    .item<int64_t>(),
                0)
          << "behind the end of " << i;
    }
    end_token = frequent_token(all, prompts);
  }
}

// Room for all sequences, for one at a time, for two.
INSTANTIATE_TEST_SUITE_P(
    Caches, Generators,
    ::testing::Combine(::testing::Values(KvCacheForm::kContiguous, KvCacheForm::kPaged),
                       ::testing::Values(0, 6, 1), ::testing::Values(0, 32, 64)));

TEST(Generator, PhasesAreToldAndTheCacheIsTagged) {
  const RunSpec spec = generating_spec(KvCacheForm::kContiguous);
  const auto step = build(spec);
  Heard heard;
  const Listening listening(*step, &heard, &heard);
  generate(*step, generation_of(spec, torch::kCPU), ragged_prompts());
  EXPECT_EQ(heard.texts.front(), "+prefill");
  EXPECT_EQ(heard.texts.back(), "-decode");
  EXPECT_EQ(heard.kinds.at("prefill"), ScopeKind::kPhase);
  EXPECT_EQ(heard.tags[Category::kKvCache].size(), 1U);
}

TEST(Generator, ASequenceBeyondTheCacheIsRefusedBeforeAnythingRuns) {
  const RunSpec spec = generating_spec(KvCacheForm::kPaged);
  const Generation settings = generation_of(spec, torch::kCPU);
  const auto step = build(spec);
  const Prompts prompts = {torch::zeros({1, 30}, torch::kInt64), {30}};
  EXPECT_THROW(generate(*step, settings, prompts), c10::Error);
  EXPECT_THROW(generate(*step, settings, {torch::zeros({1, 4}, torch::kInt64), {0}}), c10::Error);
}

std::string refusal(const RunSpec& spec) {
  try {
    validate(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(GenerationRules, WhatCannotBeIsRefusedInOneLine) {
  const RunSpec good = generating_spec(KvCacheForm::kPaged);
  EXPECT_EQ(refusal(good), "");
  const auto with = [&](const auto& change) {
    RunSpec spec = good;
    change(spec);
    return refusal(spec);
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(with([](RunSpec& s) { s.prompt_len = 40; }), HasSubstr("--prompt-len: '40'"));
  EXPECT_THAT(with([](RunSpec& s) { s.response_len = 30; }), HasSubstr("--response-len: '30'"));
  EXPECT_THAT(with([](RunSpec& s) { s.kv_cache_tokens = 31; }),
              HasSubstr("is too small for one sequence of 30 tokens; allowed: 0, or 32 or more"));
  EXPECT_THAT(with([](RunSpec& s) { s.top_p = 0; }), HasSubstr("--top-p 0"));
  EXPECT_THAT(with([](RunSpec& s) { s.top_k = 5; }), HasSubstr("--temperature 0"));
  EXPECT_THAT(with([](RunSpec& s) { s.end_token = 50; }), HasSubstr("--end-token: '50'"));
  EXPECT_THAT(with([](RunSpec& s) { s.profile_type = Mode::kTraining; }),
              HasSubstr("allowed: with generate"));
  RunSpec spec = good;
  EXPECT_THROW(find_field("temperature")->set(spec, "-1"), UsageError);
  EXPECT_THROW(find_field("top_p")->set(spec, "1.5"), UsageError);
  EXPECT_THROW(find_field("kv_cache_dtype")->set(spec, "int4"), UsageError);
}

TEST(GenerationRules, LengthsThatAreNotGivenShareTheContext) {
  RunSpec spec = generating_spec(KvCacheForm::kContiguous);
  spec.prompt_len = spec.response_len = 0;
  EXPECT_EQ(prompt_tokens(spec), 20);
  EXPECT_EQ(response_tokens(spec), 20);
  spec.precision = Precision::kBf16;
  EXPECT_EQ(kv_cache_shape(spec).type, KvCacheType::kBf16);
  spec.kv_cache_tokens = 130;
  EXPECT_EQ(kv_cache_shape(spec).sequences, 3);
  // Three prompts of 20 tokens in chunks of 25, then one, and 19 tokens after the first, twice.
  spec.prefill_chunk = 25;
  EXPECT_EQ(generation_passes(spec), 3 + 1 + 2 * 19);
}

}  // namespace
}  // namespace headroom
