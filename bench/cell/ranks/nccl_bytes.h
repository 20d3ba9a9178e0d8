// What NCCL takes of a virtual card for itself. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// The most that it has had of the card so far, outside of the allocator: assumed, by the stand-in's
// Note [What NCCL takes for itself]. 0 on a real card, whose NCCL tells nobody.
int64_t nccl_bytes_of(int card);

}  // namespace headroom
