// The flags of `headroom fit`, and the question they form. No torch here.
//
// Note [Settings left open]
// Rationale: a search should change only settings that the user did not give.
// Approach: --context-length without --batch-size asks for the largest batch, --batch-size without
//   --context-length for the largest context, both for the cheapest sets of techniques, and neither
//   for the largest batch at profile's context. A typed setting is kept: the technique that would
//   set it is excluded from the search.
// Limits: a setting that no technique sets has profile's default, except the mode, which is
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
