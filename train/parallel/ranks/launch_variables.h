// Variables that our launcher sets beside torchrun's. No torch here.
#pragma once

#include <array>
#include <cstdlib>
#include <string>

namespace headroom {

// The rank's variable: torchrun, Open MPI, other MPIs.
inline constexpr std::array kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};

// The value of the first of these variables that is set; "" if none.
template <typename Names>
std::string first_set(const Names& names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return "";
}

// 1: a launcher started this process as one rank of many; it starts no others.
inline constexpr const char* kLaunchedRank = "HEADROOM_LAUNCHED";

// Timeout of waits for other ranks, in milliseconds; default 5 minutes.
inline constexpr const char* kRankPatience = "HEADROOM_RANK_PATIENCE_MS";

// 1: only this rank runs. Note [A rank alone]
inline constexpr const char* kRankAlone = "HEADROOM_RANK_ALONE";

}  // namespace headroom
