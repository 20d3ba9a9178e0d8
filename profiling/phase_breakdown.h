// Live bytes by component at the fullest instant of each phase. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/record/ppo_figures.h"
#include "profiling/tracker/recording.h"

namespace headroom {

// "actor parameters": role and category, if the tagged name begins with one of the roles and a dot;
// otherwise the category alone.
std::string component_of(const Lifetime& lifetime, const std::vector<std::string>& roles);

inline constexpr int64_t kInstants = 48;  // length of PhaseComponents::instants

// One entry per outermost phase, in the order of their first begin. Of several runs of a phase the
// fullest counts.
std::vector<PhaseComponents> phase_breakdowns(const Recording& recording,
                                              const std::vector<Owned>& owned,
                                              const std::vector<std::string>& roles);

}  // namespace headroom
