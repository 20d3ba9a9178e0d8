// NCCL's reductions of the program's own making: a sum of what each rank multiplies first.
#pragma once

#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// One of NCCL's own, or one made for this communicator and not destroyed.
bool is_reduction(const ncclComm* comm, ncclRedOp_t operation);

// What this rank puts into the reduction: a program's own multiplies first. Empty where `bytes`
// are, or the scalar is not known.
Bytes contribution(Bytes bytes, ncclDataType_t type, ncclRedOp_t operation);

}  // namespace virtual_gpu
