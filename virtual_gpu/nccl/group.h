// NCCL calls go to a stream when the outermost group ends, or at once outside of a group: one
// launch per communicator and stream, as with NCCL.
#pragma once

#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// Arguments must be checked. Counts the call and its bytes, and makes the connections it needs.
// `other` is the peer of a send or receive.
ncclResult_t enqueue(ncclComm* comm, Traffic kind, int other, uint64_t bytes, cudaStream_t stream);

// Waits for the other ranks of a new communicator and sets it up: now, or when the group ends.
ncclResult_t join(ncclComm* comm);
// True if the stream is capturing: then nothing happens yet.
bool is_captured(cudaStream_t stream);

// This thread's outermost group; 0 = none.
uint64_t group_number();

// An error in a group is also returned at its end.
ncclResult_t note_in_group(ncclResult_t error);

}  // namespace virtual_gpu
