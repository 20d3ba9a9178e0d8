// The successor of an action on a pipeline stage. No torch here.
#pragma once

#include <vector>

#include "train/parallel/pipeline/schedule.h"

namespace headroom {

// forward: an element of `actions`. True if the next action is its backward.
inline bool backward_follows(const std::vector<Action>& actions, const Action& forward) {
  const Action* const next = &forward + 1;
  return next != actions.data() + actions.size() && next->kind == ActionKind::kBackward &&
         next->micro_batch == forward.micro_batch && next->chunk == forward.chunk;
}

}  // namespace headroom
