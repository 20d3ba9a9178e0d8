// NCCL's reductions of the program's own making: a sum of what each rank multiplies first.
#pragma once

#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// One of NCCL's own, or one made for this communicator and not destroyed.
bool is_reduction(const ncclComm* comm, ncclRedOp_t operation);

}  // namespace virtual_gpu
