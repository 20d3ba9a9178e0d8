// A small training step, to be spread over a mesh.
#pragma once

#include <cstdint>

#include "train/settings/spec.h"

namespace headroom {

inline RunSpec tiny_run(int64_t batch_size) {
  RunSpec spec{.model_size = "small",
               .layers = 5,
               .context_length = 64,
               .batch_size = batch_size,
               .profile_type = Mode::kTraining,
               .device = {.kind = DeviceKind::kVirtual, .card = "h100-80gb"}};
  spec.warmup_steps = spec.measure_steps = 2;
  spec.record_steps = 0;
  return spec;
}

}  // namespace headroom
