// Lengths of an iteration's prompts. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "text/enum_words.h"

namespace headroom {

enum class PromptLengths {
  kEven,    // all of length --prompt-len
  kSkewed,  // random: most are short, one has that length
};
const EnumWords<PromptLengths>& words_of(PromptLengths);

// Tokens of `count` prompts, 1 to `longest`. Skewed: longest u^3 with u uniform in (0, 1], rounded
// up, so the mean is about a quarter; the first is `longest`. The same on every machine.
std::vector<int64_t> prompt_lengths(PromptLengths kind, int64_t count, int64_t longest,
                                    uint64_t seed);

}  // namespace headroom
