// The model and the card of the commands that run programs of recipes/. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/process/virtual_card.h"
#include "cli/flags/flags.h"
#include "plan/recipes/model_shape.h"

namespace headroom {

// --config, --card and --bytes. cards: the heading of the last two in --help.
std::vector<Flag> model_on_card_flags(const std::string& cards);

struct ModelOnCard {
  ModelShape shape;
  VirtualCard card;
};

// command: a complete, valid command; card: valid flags with --card and --bytes; both for error
// lines. Throws UsageError.
ModelOnCard model_on_card(const Arguments& arguments, const std::string& command,
                          const std::string& card);

// "8 x h100-80gb", or the name of a single card.
std::string cards_text(int64_t count, const VirtualCard& card);

}  // namespace headroom
