#include "train/settings/vocabulary/kernels.h"

namespace headroom {

const EnumWords<Kernels>& words_of(Kernels) {
  static const EnumWords<Kernels> kWords = {
      {Kernels::kEager, "eager", "the assignment's own operation sequence, one ATen op at a time"},
      {Kernels::kCompiled, "compiled",
       "blocks and the head with its loss by torch's compiler, once for each shape"}};
  return kWords;
}

const EnumWords<Attention>& words_of(Attention) {
  static const EnumWords<Attention> kWords = {
      {Attention::kEager, "eager", "softmax written out"},
      {Attention::kSdpa, "sdpa", "scaled_dot_product_attention, by the kernel libtorch chooses"},
      {Attention::kMath, "math", "the same by its math kernel and no other"},
      {Attention::kFlash, "flash", "by its flash kernel"},
      {Attention::kEfficient, "efficient", "by its memory-efficient kernel"},
      {Attention::kCudnn, "cudnn", "by cuDNN's"}};
  return kWords;
}

std::string to_string(Attention attention) { return word_of(attention); }

}  // namespace headroom
