// NCCL's reductions of few values, on the host.
#pragma once

#include <nccl.h>

#include <optional>
#include <vector>

#include "virtual_gpu/device/memory/contents.h"

namespace virtual_gpu {

// Bytes of a type; 0 if invalid.
uint64_t bytes_of(ncclDataType_t type);

// Element by element over all ranks' bytes, in rank order, which differs from a ring's order: with
// more than two ranks the last bits of a floating-point sum may differ. A user-defined reduction is
// a sum: each rank has multiplied its part already. nullopt for 8-bit floating point.
std::optional<Bytes> reduced(const std::vector<const Bytes*>& ranks, ncclDataType_t type,
                             ncclRedOp_t operation);

// Each element times a scalar of the same type.
std::optional<Bytes> multiplied_by(Bytes bytes, ncclDataType_t type, const Bytes& scalar);

}  // namespace virtual_gpu
