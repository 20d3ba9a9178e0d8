#include "profiling/theory/activations/kv_cache.h"

#include <gtest/gtest.h>

#include "profiling/theory/rows.h"
#include "text/enum_words.h"
#include "train/generate/rules.h"

namespace headroom {
namespace {

RunSpec generation() {
  return {.model_size = "7b",
          .context_length = 2048,
          .batch_size = 3,
          .profile_type = Mode::kGenerate,
          .weights = WeightType::kBf16,
          .prompt_len = 1000,
          .response_len = 100};
}

TEST(KvCacheRows, OfAMultiHead7BInBf16ATokenIsHalfAMebibyte) {
  const RunSpec spec = generation();
  EXPECT_EQ(total(theory_rows(spec), kKvCacheRows), 3 * 1100 * 512 * 1024);
  EXPECT_EQ(predicted(spec).at("kv_cache"), 3 * 1100 * 512 * 1024);
}

TEST(KvCacheRows, TheirSumIsTheCachesInEveryFormAndType) {
  for (const auto& [form, form_word, form_meaning] : words_of(KvCacheForm{})) {
    for (const auto& [type, type_word, type_meaning] : words_of(KvCacheTypeWord{})) {
      for (const int64_t room : {0, 2500}) {
        RunSpec spec = generation();
        spec.kv_cache = form;
        spec.kv_cache_dtype = type;
        spec.kv_cache_tokens = room;
        spec.kv_heads = 8;
        EXPECT_EQ(total(theory_rows(spec), kKvCacheRows), kv_cache_shape(spec).bytes())
            << form_word << " " << type_word << " " << room;
      }
    }
  }
}

TEST(KvCacheRows, NoOtherStepHasThem) {
  RunSpec spec = generation();
  spec.profile_type = Mode::kForward;
  EXPECT_EQ(total(theory_rows(spec), kKvCacheRows), 0);
  EXPECT_EQ(predicted(spec).count("kv_cache"), 0U);
}

}  // namespace
}  // namespace headroom
