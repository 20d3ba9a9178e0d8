// Element type of a key/value cache, or of read-only weights. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "text/enum_words.h"

namespace headroom {

enum class ElementType { kBf16, kFp16, kFp8, kFp32 };
const EnumWords<ElementType>& words_of(ElementType);
std::string to_string(ElementType type);  // "bf16"
int64_t bytes_of(ElementType type);

}  // namespace headroom
