#include "train/settings/vocabulary/element_type.h"

namespace headroom {

const EnumWords<ElementType>& words_of(ElementType) {
  static const EnumWords<ElementType> kWords = {{ElementType::kBf16, "bf16"},
                                                {ElementType::kFp16, "fp16"},
                                                {ElementType::kFp8, "fp8"},
                                                {ElementType::kFp32, "fp32"}};
  return kWords;
}

std::string to_string(ElementType type) { return word_of(type); }

int64_t bytes_of(ElementType type) {
  if (type == ElementType::kFp8) return 1;
  return type == ElementType::kFp32 ? 4 : 2;
}

}  // namespace headroom
