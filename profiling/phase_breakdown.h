// Whose bytes were live at the fullest instant of each phase, from a Recording. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/ppo_figures.h"
#include "profiling/tracker/recording.h"

namespace headroom {

// "actor parameters": the role, where the name that it was tagged under begins with one of them
// and a dot, and the category; else the category alone.
std::string component_of(const Lifetime& lifetime, const std::vector<std::string>& roles);

inline constexpr int64_t kInstants = 48;  // of PhaseComponents::instants

// Of each outermost phase, in the order in which they first began; of one that ran several times
// the fullest run.
std::vector<PhaseComponents> phase_breakdowns(const Recording& recording,
                                              const std::vector<Owned>& owned,
                                              const std::vector<std::string>& roles);

}  // namespace headroom
