// NCCL's user-defined reductions: a sum after each rank has multiplied its part.
#pragma once

#include "virtual_gpu/device/memory/contents.h"
#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// True for NCCL's own, and for one made for this communicator and not destroyed.
bool is_reduction(const ncclComm* comm, ncclRedOp_t operation);

// This rank's input to the reduction: a user-defined one multiplies first. Empty if `bytes` are, or
// the scalar is not known.
Bytes contribution(Bytes bytes, ncclDataType_t type, ncclRedOp_t operation);

}  // namespace virtual_gpu
