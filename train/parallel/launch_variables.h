// What a launcher of ranks tells them beside what torchrun does. No torch here.
#pragma once

namespace headroom {

// How long ranks wait for each other, in milliseconds; without it, 5 minutes.
inline constexpr const char* kRankPatience = "HEADROOM_RANK_PATIENCE_MS";

// 1: of all ranks only this one runs. Note [A rank alone]
inline constexpr const char* kRankAlone = "HEADROOM_RANK_ALONE";

}  // namespace headroom
