// The models of an iteration, by name. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Role {
  kActor,      // samples, and is trained
  kCritic,     // says what a state is worth, and is trained; PPO only
  kReward,     // scores a finished sequence; a rule may stand in its place
  kReference,  // what the actor is kept near to
};
const EnumWords<Role>& words_of(Role);

inline bool is_trained(Role role) { return role == Role::kActor || role == Role::kCritic; }
// Whether its head gives one number for a position.
inline bool gives_values(Role role) { return role == Role::kCritic || role == Role::kReward; }

}  // namespace headroom
