// The work of one step. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Mode {
  kForward,          // inference: NoGradGuard, nothing kept for backward
  kForwardGrad,      // forward that keeps what backward needs
  kForwardBackward,  // forward, loss, backward
  kTraining,         // gradients released, forward, loss, backward, optimizer step
  kGenerate,         // prompts, then one token after another; no gradients, a cache
};
const EnumWords<Mode>& words_of(Mode);
std::string to_string(Mode mode);  // "forward-grad"

// True if forward keeps what backward would need.
inline bool builds_graph(Mode mode) { return mode != Mode::kForward && mode != Mode::kGenerate; }

inline bool has_backward(Mode mode) {
  return mode == Mode::kForwardBackward || mode == Mode::kTraining;
}

}  // namespace headroom
