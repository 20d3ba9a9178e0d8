// What comes after an action of a pipeline's stage. No torch here.
#pragma once

#include <vector>

#include "train/parallel/pipeline/schedule.h"

namespace headroom {

// forward: one of `actions`. Whether the backward of the same is the next one.
inline bool backward_follows(const std::vector<Action>& actions, const Action& forward) {
  const Action* const next = &forward + 1;
  return next != actions.data() + actions.size() && next->kind == ActionKind::kBackward &&
         next->micro_batch == forward.micro_batch && next->chunk == forward.chunk;
}

}  // namespace headroom
