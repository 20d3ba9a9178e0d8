// The search for a set-up that fits: the cheapest layouts and techniques, each with its reason.
// No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"
#include "plan/search/cost_order.h"
#include "plan/search/questions.h"

namespace headroom {

// Level of each technique in a set-up: Note [The order of costs] in plan/search/cost_order.h.
Cost cost_of(const RlhfSpec& spec, const RlhfSetup& setup);

struct Reason {
  std::string technique;  // "checkpoint full"
  std::string why;        // "checkpoint none is short by 12.3 GiB per GPU in training"
};

struct Recommended {
  RlhfSpec spec;  // with the set-up
  RankMemory worst;
  RlhfPhase phase = RlhfPhase::kTraining;  // the fullest
  int64_t peak = 0;                        // bytes on the worst rank
  std::vector<Reason> reasons;             // one per technique in use
  int64_t margin() const { return spec.card.total_bytes - peak; }
};

struct Recommendation {
  // The cheapest that fit; none is another one with something added.
  std::vector<Recommended> fitting;
  // If none fits: the set-up with the lowest peak by summed rows, and the fewest GPUs (doubled
  // until one fits; 0 = not with 65,536) on which one does.
  std::optional<Recommended> nearest;
  int64_t gpus_that_fit = 0;
  int64_t tried = 0;
  Questions questions;  // guesses: set-ups summed from rows; needs: rehearsals
};

// Tries every set-up of plan/search/setup_space.h; the spec fixes models, batch, sequence,
// precision, optimizer and attention.
Recommendation recommend(const RlhfSpec& spec, size_t most = 3);

}  // namespace headroom
