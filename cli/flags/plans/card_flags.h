// A plan's card on the command line: by name, or only its memory. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"
#include "cli/flags/flags.h"

namespace headroom {

// --gpu-memory and --card.
std::vector<Flag> card_flags(const std::string& group);

// --gpu-memory: "80" is in GB, as in this project's original guides; "80GiB", "24GB": with a unit.
// A card given by its memory is otherwise an H100. --card replaces it. Throws UsageError.
Card card_from(const Arguments& arguments);

}  // namespace headroom
