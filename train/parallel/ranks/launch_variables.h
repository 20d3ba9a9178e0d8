// What a launcher of ranks tells them beside what torchrun does. No torch here.
#pragma once

#include <array>
#include <cstdlib>
#include <string>

namespace headroom {

// What launchers call a rank: torchrun, Open MPI, others' MPI.
inline constexpr std::array kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};

// The first of these variables that is set; "" where none is.
template <typename Names>
std::string first_set(const Names& names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return "";
}

// 1: a launcher has started this process as one rank of many; it starts no others.
inline constexpr const char* kLaunchedRank = "HEADROOM_LAUNCHED";

// How long ranks wait for each other, in milliseconds; without it, 5 minutes.
inline constexpr const char* kRankPatience = "HEADROOM_RANK_PATIENCE_MS";

// 1: of all ranks only this one runs. Note [A rank alone]
inline constexpr const char* kRankAlone = "HEADROOM_RANK_ALONE";

}  // namespace headroom
