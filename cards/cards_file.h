// Files of cards: the built-in one, and the user's merged over it. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"

namespace headroom {

// The built-in cards, with those of the file merged over them; "" = only the built-in ones. An
// entry with a known name changes the given fields, whose source becomes the file unless it gives
// one; others are new cards. Throws UsageError, one line with the file, the card and the field.
std::vector<Card> read_cards(const std::string& path);

}  // namespace headroom
