// The card that a plan is for, on the command line: by name, or its memory alone. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"
#include "cli/flags/flags.h"

namespace headroom {

// --gpu-memory and --card.
std::vector<Flag> card_flags(const std::string& group);

// "80": GB, as the guides this project began with count; "80GiB", "24GB": with a unit. --card in
// its place. A card given by its memory is otherwise an H100. Throws UsageError.
Card card_from(const Arguments& arguments);

}  // namespace headroom
