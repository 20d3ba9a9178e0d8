// The models of an iteration, by name. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Role {
  kActor,      // samples; trained
  kCritic,     // estimates the value of a state; trained; PPO only
  kReward,     // scores a finished sequence; a rule can replace it
  kReference,  // the actor is kept near it
};
const EnumWords<Role>& words_of(Role);

inline bool is_trained(Role role) { return role == Role::kActor || role == Role::kCritic; }
// True if its head gives one number per position.
inline bool gives_values(Role role) { return role == Role::kCritic || role == Role::kReward; }

}  // namespace headroom
