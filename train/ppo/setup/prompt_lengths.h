// How long each prompt of an iteration is. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "text/enum_words.h"

namespace headroom {

enum class PromptLengths {
  kEven,    // all as long as --prompt-len
  kSkewed,  // a draw: most are short, one is that long
};
const EnumWords<PromptLengths>& words_of(PromptLengths);

// Tokens of `count` prompts, 1 to `longest`. Skewed: longest u^3 with u even in (0, 1], rounded up,
// so the mean is about a quarter; the first is `longest`. The same on every machine.
std::vector<int64_t> prompt_lengths(PromptLengths kind, int64_t count, int64_t longest,
                                    uint64_t seed);

}  // namespace headroom
