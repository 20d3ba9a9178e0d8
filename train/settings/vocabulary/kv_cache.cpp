#include "train/settings/vocabulary/kv_cache.h"

namespace headroom {

const EnumWords<KvCacheForm>& words_of(KvCacheForm) {
  static const EnumWords<KvCacheForm> kWords = {
      {KvCacheForm::kContiguous, "contiguous", "a row of memory for every sequence"},
      {KvCacheForm::kPaged, "paged", "blocks of 16 tokens, given to a sequence as it grows"}};
  return kWords;
}

const EnumWords<KvCacheTypeWord>& words_of(KvCacheTypeWord) {
  using Word = KvCacheTypeWord;
  static const EnumWords<Word> kWords = {
      {Word::kAuto, "auto", "the type that products are computed in"},
      {Word::kFp32, "fp32", ""},
      {Word::kBf16, "bf16", ""},
      {Word::kFp16, "fp16", ""},
      {Word::kFp8, "fp8", "e4m3 codes and an FP32 scale for each token and head"},
      {Word::kInt8, "int8", "codes and an FP32 scale for each token and head"}};
  return kWords;
}

}  // namespace headroom
