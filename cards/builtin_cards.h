// cards/cards.json as it was when the program was built. No torch here.
#pragma once

#include <string_view>

namespace headroom {

std::string_view builtin_cards();

}  // namespace headroom
