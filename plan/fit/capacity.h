// What a run may have of a card. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "cards/cards.h"
#include "plan/cost/library_bytes.h"

namespace headroom {

// gpus: that talk to each other, of which NCCL is assumed to take its part (plan/cost/
// library_bytes.h); on the virtual card it takes what virtual_gpu/nccl/own_bytes.h says.
inline int64_t capacity_of(const Card& card, int64_t gpus = 1) {
  return card.total_bytes - card.context_bytes - nccl_bytes(gpus);
}

// What is called the margin beside a peak: "margin: 23.52 GiB of the card less ... less the peak".
std::string margin_in_words(const Card& card, int64_t gpus = 1);

}  // namespace headroom
