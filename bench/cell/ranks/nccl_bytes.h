// NCCL's own memory on a virtual card. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// NCCL's highest memory on the card so far, outside the allocator: assumed by the stand-in's
// Note [NCCL's own memory]. 0 on a real card, where NCCL does not report it.
int64_t nccl_bytes_of(int card);

}  // namespace headroom
