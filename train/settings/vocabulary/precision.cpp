#include "train/settings/vocabulary/precision.h"

namespace headroom {

const EnumWords<Precision>& words_of(Precision) {
  static const EnumWords<Precision> kWords = {
      {Precision::kFp32, "fp32", "FP32 everywhere"},
      {Precision::kTf32, "tf32", "FP32 tensors, matrix products rounded to TF32"},
      {Precision::kBf16, "bf16", "autocast to BF16 over FP32 weights"},
      {Precision::kFp16, "fp16", "autocast to FP16 over FP32 weights, dynamic loss scaling"},
      {Precision::kFp8, "fp8", "as bf16, with FP8 products in the blocks' projections"}};
  return kWords;
}

std::string to_string(Precision precision) { return word_of(precision); }

}  // namespace headroom
