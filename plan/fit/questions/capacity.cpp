#include "plan/fit/questions/capacity.h"

#include "text/quantity.h"

namespace headroom {

std::string margin_in_words(const Card& card) {
  return "margin: " + format_bytes(card.total_bytes) + " of the card less " +
         format_bytes(card.context_bytes) + " of its CUDA context (" +
         (card.context_measured ? "measured" : "assumed") + ") less the peak";
}

}  // namespace headroom
