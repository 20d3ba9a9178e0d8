// Precision of a step's arithmetic. No torch here. Applied by train/techniques/precision.h.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Precision {
  kFp32,  // FP32 everywhere
  kTf32,  // FP32 tensors, matrix products rounded to TF32 on the card
  kBf16,  // autocast to BF16; weights stay FP32 (+2 bytes per weight of cast cache)
  kFp16,  // autocast to FP16 with dynamic loss scaling
  kFp8,   // as kBf16, FP8 products in the blocks' projections (train/techniques/fp8_linear.h)
};
const EnumWords<Precision>& words_of(Precision);
std::string to_string(Precision precision);  // "bf16"

inline bool uses_autocast(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16 ||
         precision == Precision::kFp8;
}

}  // namespace headroom
