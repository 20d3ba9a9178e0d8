// Passes: packed sequences against single ones, and cached tokens against a full forward.
#include "model/batch_layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/kv_cache/kv_cache.h"
#include "model/loss.h"
#include "model/torch.h"
#include "model/transformer.h"

namespace headroom {
namespace {

constexpr int64_t kContext = 48;
constexpr int64_t kVocabulary = 97;

ModelConfig grouped_config() {
  return {.name = "custom",
          .d_model = 32,
          .d_ff = 64,
          .layers = 3,
          .heads = 4,
          .kv_heads = 2,
          .vocab_size = kVocabulary};
}

Transformer model_of(Attention attention, const ModelConfig& config = grouped_config()) {
  torch::manual_seed(7);
  return Transformer(eager_layers(), config, kContext, attention, torch::kCPU);
}

std::vector<Tensor> sequences(const std::vector<int64_t>& lengths) {
  torch::manual_seed(11);
  std::vector<Tensor> all;
  for (const int64_t length : lengths) {
    all.push_back(torch::randint(kVocabulary, {length}, torch::kInt64));
  }
  return all;
}

// Largest difference over the largest magnitude.
double relative(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

const char* name_of(Attention attention) {
  return attention == Attention::kEager ? "eager" : attention == Attention::kMath ? "math" : "sdpa";
}

class Packed : public ::testing::TestWithParam<Attention> {};

TEST_P(Packed, SequencesBehindEachOtherGiveTheLogitsAndGradientsOfEachAlone) {
  const std::vector<int64_t> lengths = {5, 17, 1, 17, 40};
  const std::vector<Tensor> tokens = sequences(lengths);
  Transformer packed = model_of(GetParam());
  Transformer single = model_of(GetParam());
  std::vector<Tensor> logits;
  Tensor sum = torch::zeros({});
  for (const Tensor& sequence : tokens) {
    logits.push_back(single->forward(sequence.unsqueeze(0)).squeeze(0));
    sum = sum + logits.back().pow(2).sum();
  }
  sum.backward();
  const BatchLayout pass = packed_pass(lengths, torch::kCPU);
  const PassScope scope(packed, &pass);
  const Tensor together = packed->forward(torch::cat(tokens).unsqueeze(0)).squeeze(0);
  EXPECT_LT(relative(together, torch::cat(logits)), 1e-5);
  together.pow(2).sum().backward();
  const auto wanted = single->named_parameters();
  for (const auto& parameter : packed->named_parameters()) {
    EXPECT_LT(relative(parameter.value().grad(), wanted[parameter.key()].grad()), 1e-5)
        << parameter.key();
  }
}

TEST_P(Packed, EvenSequencesAreABatch) {
  const std::vector<Tensor> tokens = sequences({12, 12, 12});
  Transformer model = model_of(GetParam());
  const torch::NoGradGuard no_grad;
  const Tensor rows = model->forward(torch::stack(tokens));
  const BatchLayout pass = packed_pass({12, 12, 12}, torch::kCPU);
  const PassScope scope(model, &pass);
  const Tensor packed = model->forward(torch::cat(tokens).unsqueeze(0));
  EXPECT_LT(relative(packed.view({3, 12, kVocabulary}), rows), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Attentions, Packed,
                         ::testing::Values(Attention::kEager, Attention::kSdpa, Attention::kMath),
                         [](const auto& info) { return name_of(info.param); });

TEST(BatchLayout, OnlyTheOutputsThatAreWantedAreComputed) {
  const std::vector<Tensor> tokens = sequences({6, 9});
  Transformer model = model_of(Attention::kSdpa);
  const torch::NoGradGuard no_grad;
  BatchLayout pass = packed_pass({6, 9}, torch::kCPU);
  const PassScope scope(model, &pass);
  const Tensor all = model->forward(torch::cat(tokens).unsqueeze(0));
  pass.outputs_N = torch::tensor({5, 14}, torch::kInt64);
  const Tensor wanted = model->forward(torch::cat(tokens).unsqueeze(0));
  EXPECT_EQ(wanted.sizes(), at::IntArrayRef({1, 2, kVocabulary}));
  EXPECT_LT(relative(wanted, all.index_select(1, pass.outputs_N)), 1e-6);
}

TEST(BatchLayout, ASequenceBeyondTheContextIsRefused) {
  Transformer model = model_of(Attention::kSdpa);
  const BatchLayout pass = packed_pass({kContext + 1}, torch::kCPU);
  EXPECT_THROW(PassScope(model, &pass), c10::Error);
  EXPECT_THROW(packed_pass({3, 0}, torch::kCPU), c10::Error);
}

TEST(BatchLayout, AForwardAfterItIsOfRowsAgain) {
  Transformer model = model_of(Attention::kEager);
  const torch::NoGradGuard no_grad;
  const Tensor tokens_BS = torch::stack(sequences({8, 8}));
  const Tensor before = model->forward(tokens_BS);
  {
    const BatchLayout pass = packed_pass({3, 5}, torch::kCPU);
    const PassScope scope(model, &pass);
    model->forward(tokens_BS[0].unsqueeze(0));
  }
  EXPECT_TRUE(torch::equal(model->forward(tokens_BS), before));
}

struct CacheCase {
  Attention attention;
  KvCacheForm form;
  int64_t chunk;  // tokens of a sequence per pass
};

class Cached : public ::testing::TestWithParam<CacheCase> {};

KvCacheShape shape_of(const ModelConfig& config, KvCacheForm form, int64_t sequences,
                      KvCacheType type = KvCacheType::kFp32) {
  return {.form = form,
          .type = type,
          .layers = config.layers,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim(),
          .sequences = sequences,
          .tokens = kContext};
}

// Logits of every position, (S, V) each: `chunk` tokens of each sequence per pass up to `prompts`,
// then one of each.
std::vector<Tensor> through_cache(Transformer& model, KvCache& cache,
                                  const std::vector<Tensor>& tokens,
                                  const std::vector<int64_t>& prompts, int64_t chunk) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> logits(tokens.size());
  while (true) {
    std::vector<SequenceSpan> spans;
    std::vector<Tensor> next;
    bool prefills = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
      prefills |= cache.length(static_cast<int64_t>(i)) < prompts[i];
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const int64_t first = cache.length(row);
      const int64_t end =
          prefills ? std::min(prompts[i], first + chunk) : std::min(tokens[i].size(0), first + 1);
      if (end == first) continue;
      spans.push_back({.length = end - first, .first = first, .row = row});
      next.push_back(tokens[i].narrow(0, first, end - first));
    }
    if (spans.empty()) return logits;
    cache.begin(spans);
    const BatchLayout pass = make_pass(spans, torch::kCPU, &cache);
    const PassScope scope(model, &pass);
    const Tensor given_TV = model->forward(torch::cat(next).unsqueeze(0)).squeeze(0);
    int64_t token = 0;
    for (const SequenceSpan& span : spans) {
      Tensor& all = logits[static_cast<size_t>(span.row)];
      const Tensor part = given_TV.narrow(0, token, span.length);
      all = all.defined() ? torch::cat({all, part}) : part;
      token += span.length;
    }
  }
}

TEST_P(Cached, RaggedPromptsAndDecodedTokensGetTheLogitsOfAWholeForward) {
  const CacheCase& c = GetParam();
  for (const int64_t kv_heads : {4, 2, 1}) {
    ModelConfig config = grouped_config();
    config.kv_heads = kv_heads;
    Transformer model = model_of(c.attention, config);
    const std::vector<Tensor> tokens = sequences({30, 44, 20, 44});
    const auto cache = make_kv_cache(shape_of(config, c.form, 4), torch::kCPU);
    const std::vector<Tensor> logits =
        through_cache(model, *cache, tokens, {7, 33, 1, 16}, c.chunk);
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Tensor whole = model->forward(tokens[i].unsqueeze(0)).squeeze(0);
      EXPECT_LT(relative(logits[i], whole), 1e-5) << "sequence " << i << ", G " << kv_heads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Cached,
                         ::testing::Values(CacheCase{Attention::kEager, KvCacheForm::kContiguous,
                                                     100},
                                           CacheCase{Attention::kEager, KvCacheForm::kPaged, 5},
                                           CacheCase{Attention::kSdpa, KvCacheForm::kContiguous, 5},
                                           CacheCase{Attention::kSdpa, KvCacheForm::kPaged, 100},
                                           CacheCase{Attention::kMath, KvCacheForm::kPaged, 16}));

// The largest error of any logit, relative to the largest logit, for caches of other types.
double error_of(KvCacheType type, KvCacheForm form) {
  const ModelConfig config = grouped_config();
  Transformer model = model_of(Attention::kSdpa, config);
  const std::vector<Tensor> tokens = sequences({44, 30});
  const std::vector<int64_t> prompts = {20, 9};
  const auto exact = make_kv_cache(shape_of(config, form, 2), torch::kCPU);
  const auto coded = make_kv_cache(shape_of(config, form, 2, type), torch::kCPU);
  const auto wanted = through_cache(model, *exact, tokens, prompts, 100);
  const auto given = through_cache(model, *coded, tokens, prompts, 100);
  return std::max(relative(given[0], wanted[0]), relative(given[1], wanted[1]));
}

TEST(KvCacheTypes, ErrorOfEachTypeIsWithinWhatIsStated) {
  for (const KvCacheForm form : {KvCacheForm::kContiguous, KvCacheForm::kPaged}) {
    const auto check = [&](KvCacheType type, const char* name, double least, double most) {
      const double error = error_of(type, form);
      RecordProperty(name, std::to_string(error));
      std::printf("%s %s: %.2e\n", name, form == KvCacheForm::kPaged ? "paged" : "contiguous",
                  error);
      EXPECT_GT(error, least) << name << ": nothing was rounded";
      EXPECT_LT(error, most) << name;
    };
    check(KvCacheType::kBf16, "bf16", 1e-5, 1e-2);
    check(KvCacheType::kFp16, "fp16", 1e-6, 1e-3);
    check(KvCacheType::kFp8, "fp8", 1e-4, 5e-2);
    check(KvCacheType::kInt8, "int8", 1e-5, 1e-2);
  }
}

TEST(KvCache, BytesAreThoseOfItsShape) {
  for (const KvCacheForm form : {KvCacheForm::kContiguous, KvCacheForm::kPaged}) {
    for (const KvCacheType type : {KvCacheType::kFp32, KvCacheType::kBf16, KvCacheType::kFp16,
                                   KvCacheType::kFp8, KvCacheType::kInt8}) {
      KvCacheShape shape = shape_of(grouped_config(), form, 3, type);
      shape.tokens = 41;  // not a multiple of the block
      int64_t bytes = 0;
      for (const Tensor& storage : make_kv_cache(shape, torch::kCPU)->storages()) {
        bytes += static_cast<int64_t>(storage.storage().nbytes());
      }
      EXPECT_EQ(bytes, shape.bytes());
    }
  }
}

TEST(KvCache, BlocksOfASequenceThatEndedAreGivenToAnother) {
  KvCacheShape shape = shape_of(grouped_config(), KvCacheForm::kPaged, 3);
  shape.blocks = 4;
  const auto cache = make_kv_cache(shape, torch::kCPU);
  cache->begin({{.length = 40, .row = 0}});                            // three blocks
  EXPECT_THROW(cache->begin({{.length = 20, .row = 1}}), c10::Error);  // would need two
  EXPECT_EQ(cache->length(1), 0);
  cache->begin({{.length = 16, .row = 2}});
  cache->release(0);
  cache->begin({{.length = 20, .row = 1}});
  EXPECT_EQ(cache->length(1), 20);
  EXPECT_THROW(cache->begin({{.length = 1, .first = 19, .row = 1}}), c10::Error);
}

}  // namespace
}  // namespace headroom
