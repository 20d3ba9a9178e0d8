// Where bytes lie. Peaks, categories and theory rows are kept for each apart. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class MemorySpace {
  kDevice,  // the card's own memory
  kHost,    // tensors of the CPU, in ordinary memory or pinned for the card
  kDisk,    // files that a step reads back
};

inline const EnumWords<MemorySpace>& words_of(MemorySpace) {
  static const EnumWords<MemorySpace> kWords = {{MemorySpace::kDevice, "device"},
                                                {MemorySpace::kHost, "host"},
                                                {MemorySpace::kDisk, "disk"}};
  return kWords;
}

inline std::string to_string(MemorySpace space) { return word_of(space); }

}  // namespace headroom
