// The last layer of a model and its loss. No torch here.
#pragma once

namespace headroom {

enum class Head {
  kLanguage,  // one row per word of the vocabulary, trained with cross entropy
  kPolicy,    // the same, trained with PPO's loss: entropy besides the log-probabilities
  kValue,     // one row: a critic's or reward model's score
};

}  // namespace headroom
