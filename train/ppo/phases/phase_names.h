// The phases of an iteration, as named in scopes and listeners. No torch here.
#pragma once

namespace headroom {

inline constexpr const char* kGenerationPhase = "generation";
inline constexpr const char* kScoringPhase = "scoring";
inline constexpr const char* kTrainingPhase = "training";

}  // namespace headroom
