// The components of one pipeline stage's rank, written one by one. No torch here.
#pragma once

#include "plan/rlhf_memory.h"

namespace headroom {

// Everything the first tensor-parallel rank of the first replica ever holds on this stage; the
// others hold as much or, where something does not divide, less. spec must be valid.
RankMemory stage_memory(const RlhfSpec& spec, const RlhfModels& models, int64_t stage);

}  // namespace headroom
