// NCCL's reductions of few values, on the host.
#pragma once

#include <nccl.h>

#include <optional>
#include <vector>

#include "virtual_gpu/device/contents.h"

namespace virtual_gpu {

// Of a type; 0 for what is none.
uint64_t bytes_of(ncclDataType_t type);

// Element by element over all ranks' bytes, in the ranks' order; nullopt for what is not computed
// here: small floating-point types, and sums that a program made itself.
std::optional<Bytes> reduced(const std::vector<const Bytes*>& ranks, ncclDataType_t type,
                             ncclRedOp_t operation);

}  // namespace virtual_gpu
