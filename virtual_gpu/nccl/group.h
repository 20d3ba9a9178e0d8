// What NCCL is asked to do goes to a stream when the outermost group ends, or at once outside of
// one: one launch per communicator and stream, as with NCCL.
#pragma once

#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// Arguments have been checked. Counts the call and its bytes.
ncclResult_t enqueue(ncclComm* comm, Traffic kind, uint64_t bytes, cudaStream_t stream);

// An error in a group is also that of its end.
ncclResult_t note_in_group(ncclResult_t error);

}  // namespace virtual_gpu
