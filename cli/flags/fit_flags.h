// The flags of `headroom fit` and what they make. No torch here.
//
// Note [What is left open]
// Rationale: a search should change what nobody asked for, and nothing else.
// Approach: --context-length without --batch-size asks for the largest batch, --batch-size without
//   --context-length for the largest context, both for the cheapest sets of techniques, and neither
//   is a batch asked for at profile's context. A setting that is typed is kept: the technique that
//   would set it is out of the search.
// Limits: a setting that no technique sets stays at profile's default, but for the mode, which is
//   training, and the steps: 2 of warm-up, 2 measured, none recorded.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"
#include "cli/flags/flags.h"
#include "plan/fit/search.h"

namespace headroom {

std::vector<Flag> fit_flags();

// The cards of --card with --bytes, the smallest first, each with its device.
struct FitCard {
  Card card;
  Device device;
};
std::vector<FitCard> fit_cards(const Arguments& arguments);

// Throws UsageError, one line. base.device is the first card's.
FitQuestion fit_question(const Arguments& arguments, const std::vector<FitCard>& cards);

}  // namespace headroom
