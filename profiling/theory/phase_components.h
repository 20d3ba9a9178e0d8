// The memory of an iteration's phase, in the rows of reports and plans. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "profiling/theory/iteration.h"

namespace headroom {

// Memory beside the models: prompts, responses and data about their tokens; rotary tables; loss
// scales.
inline constexpr const char* kBesideModels = "experience, tables";
inline constexpr const char* kCacheComponent = "KV cache";

// The row of a role's category of tags: "actor weights", "critic optimizer" (states and master
// weights); "" if it is no state of a role.
std::string component_of_role(std::string_view role, std::string_view category);

// A phase's components, requested bytes at its fullest instant: the roles', the cache, the memory
// beside the models, kWorkspaces; all others are kActivations, made by the phase.
std::map<std::string, int64_t> by_component(const PhasePeak& peak);

}  // namespace headroom
