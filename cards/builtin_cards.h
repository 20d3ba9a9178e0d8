// cards/cards.json at build time. No torch here.
#pragma once

#include <string_view>

namespace headroom {

std::string_view builtin_cards();

}  // namespace headroom
