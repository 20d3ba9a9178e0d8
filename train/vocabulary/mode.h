// What one step does. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Mode {
  kForward,          // inference: NoGradGuard, nothing kept for backward
  kForwardGrad,      // forward that keeps what backward needs
  kForwardBackward,  // forward, loss, backward
  kTraining,         // gradients released, forward, loss, backward, optimizer step
};
const EnumWords<Mode>& words_of(Mode);
std::string to_string(Mode mode);  // "forward-grad"

inline bool has_backward(Mode mode) {
  return mode == Mode::kForwardBackward || mode == Mode::kTraining;
}

}  // namespace headroom
