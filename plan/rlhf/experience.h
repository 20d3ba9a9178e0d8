// PPO's own tensors, which scoring makes for training. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/rlhf/spec.h"

namespace headroom {

// One tensor per row, for one replica's batch: (B, S) or (B, R), R the response's tokens.
struct ExperienceRow {
  const char* tensor = "";  // "old_log_probs_BR"
  int64_t element_bytes = 0;
  int64_t bytes = 0;
  bool while_generating = false;  // alive from the first phase on
  const char* why = "";
};
std::vector<ExperienceRow> experience_rows(const RlhfSpec& spec);

// Sum of the rows, or only of those alive during generation.
int64_t experience_bytes(const RlhfSpec& spec, bool while_generating);

}  // namespace headroom
