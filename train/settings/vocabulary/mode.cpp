#include "train/settings/vocabulary/mode.h"

namespace headroom {

const EnumWords<Mode>& words_of(Mode) {
  static const EnumWords<Mode> kWords = {
      {Mode::kForward, "forward", "inference under no_grad, nothing is kept for backward"},
      {Mode::kForwardGrad, "forward-grad", "forward only, keeping what backward needs"},
      {Mode::kForwardBackward, "forward-backward", "forward, loss, backward; no optimizer step"},
      {Mode::kTraining, "training", "gradients released, forward, loss, backward, optimizer step"},
      {Mode::kGenerate, "generate", "prefill of prompts, then decode with a cache; no gradients"}};
  return kWords;
}

std::string to_string(Mode mode) { return word_of(mode); }

}  // namespace headroom
