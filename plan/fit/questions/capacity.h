// Memory of a card that a run may use. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "cards/cards.h"

namespace headroom {

inline int64_t capacity_of(const Card& card) { return card.total_bytes - card.context_bytes; }

// Definition of the margin: "margin: 23.52 GiB of the card less ... less the peak".
std::string margin_in_words(const Card& card);

}  // namespace headroom
