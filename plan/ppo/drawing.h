// The drawing of a measured iteration over time. No torch here.
#pragma once

#include <optional>

#include "plan/ppo/computed.h"
#include "plan/rlhf/timeline.h"
#include "profiling/record/record.h"

namespace headroom {

// The phases of the recorded iteration, by kind of component, each with its computed peak as its
// level. nullopt if no iteration was recorded.
std::optional<Timeline> ppo_timeline(const Record& record,
                                     const std::optional<ComputedIteration>& computed);

}  // namespace headroom
