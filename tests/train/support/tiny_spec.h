// A run small enough for every test. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

inline RunSpec tiny_spec() {
  return {.model_size = "custom",
          .d_model = 32,
          .d_ff = 48,
          .layers = 3,
          .heads = 4,
          .kv_heads = 4,
          .vocab_size = 50,
          .context_length = 16,
          .batch_size = 2,
          .profile_type = Mode::kTraining,
          .device = parse_device("cpu"),
          .threads = 1,
          .seed = 1,
          .warmup_steps = 1,
          .measure_steps = 2,
          .record_steps = 1,
          .stacks = Stacks::kNone};
}

}  // namespace headroom
