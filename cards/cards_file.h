// Files of cards: the built-in one, the user's, and one put over the other. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"

namespace headroom {

// The built-in cards, with those of the file put over them; "" = the built-in ones alone. An entry
// with a known name changes the fields it gives, whose source becomes the file unless it gives one;
// others are new cards. Throws UsageError, one line with the file, the card and the field.
std::vector<Card> read_cards(const std::string& path);

}  // namespace headroom
