#include "train/ppo/setup/prompt_lengths.h"

#include <cmath>
#include <random>

namespace headroom {

const EnumWords<PromptLengths>& words_of(PromptLengths) {
  static const EnumWords<PromptLengths> kWords = {
      {PromptLengths::kEven, "even", "all as long as --prompt-len"},
      {PromptLengths::kSkewed, "skewed", "most are short, one is that long"}};
  return kWords;
}

std::vector<int64_t> prompt_lengths(PromptLengths kind, int64_t count, int64_t longest,
                                    uint64_t seed) {
  std::vector<int64_t> lengths(static_cast<size_t>(count), longest);
  if (kind == PromptLengths::kEven) return lengths;
  std::mt19937_64 random(seed);  // portable numbers; the standard's distributions are not
  for (size_t i = 1; i < lengths.size(); ++i) {
    const double u = (static_cast<double>(random() >> 11) + 1) / static_cast<double>(1ULL << 53);
    lengths[i] = std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(static_cast<double>(longest) * u * u * u)));
  }
  return lengths;
}

}  // namespace headroom
