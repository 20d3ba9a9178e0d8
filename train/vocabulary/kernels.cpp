#include "train/vocabulary/kernels.h"

namespace headroom {

const EnumWords<Kernels>& words_of(Kernels) {
  static const EnumWords<Kernels> kWords = {
      {Kernels::kEager, "eager", "the assignment's own operation sequence, one ATen op at a time"}};
  return kWords;
}

const EnumWords<Attention>& words_of(Attention) {
  static const EnumWords<Attention> kWords = {
      {Attention::kEager, "eager", "softmax written out"},
      {Attention::kFlash, "flash", "scaled_dot_product_attention"}};
  return kWords;
}

std::string to_string(Attention attention) { return word_of(attention); }

}  // namespace headroom
