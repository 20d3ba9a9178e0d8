// Implementation of the model's arithmetic: same parameters, same result within rounding.
// No torch here.
#pragma once

#include "model/attention_kernel/attention_kernel.h"
#include "text/enum_words.h"

namespace headroom {

enum class Kernels { kEager, kCompiled };
const EnumWords<Kernels>& words_of(Kernels);

const EnumWords<Attention>& words_of(Attention);
std::string to_string(Attention attention);  // "flash"

}  // namespace headroom
