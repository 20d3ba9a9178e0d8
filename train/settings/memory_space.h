// Memory spaces. Peaks, categories and theory rows are kept per space. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class MemorySpace { kDevice, kHost, kDisk };

inline const EnumWords<MemorySpace>& words_of(MemorySpace) {
  static const EnumWords<MemorySpace> kWords = {
      {MemorySpace::kDevice, "device", "the card's own memory"},
      {MemorySpace::kHost, "host", "tensors of the CPU, in ordinary memory or pinned for a card"},
      {MemorySpace::kDisk, "disk", "files that a step reads back"}};
  return kWords;
}

inline std::string to_string(MemorySpace space) { return word_of(space); }

}  // namespace headroom
