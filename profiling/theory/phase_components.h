// What a phase of an iteration holds, in the rows that reports and plans have. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "profiling/theory/iteration.h"

namespace headroom {

// What is there beside the models: prompts, responses and what is known of their tokens; rotary
// tables; what a loss is scaled by.
inline constexpr const char* kBesideModels = "experience, tables";
inline constexpr const char* kCacheComponent = "KV cache";

// The row of a role's category of tags: "actor weights", "critic optimizer" (states and master
// weights); "" where it is none of a role's states.
std::string component_of_role(std::string_view role, std::string_view category);

// A phase's components, requested bytes at its fullest instant: those of the roles, the cache, what
// is there beside the models, kWorkspaces; every other one is of kActivations, made by the phase.
std::map<std::string, int64_t> by_component(const PhasePeak& peak);

}  // namespace headroom
