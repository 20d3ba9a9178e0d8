// What NCCL is asked to do goes to a stream when the outermost group ends, or at once outside of
// one: one launch per communicator and stream, as with NCCL.
#pragma once

#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {

// Arguments have been checked. Counts the call and its bytes, and makes the connections it needs.
// `other` is the peer of a send or receive.
ncclResult_t enqueue(ncclComm* comm, Traffic kind, int other, uint64_t bytes, cudaStream_t stream);

// Waits for the others of a new communicator and sets it up: now, or when the group ends.
ncclResult_t join(ncclComm* comm);
// Whether the stream is captured: then nothing happens yet.
bool is_captured(cudaStream_t stream);

// Of the outermost group that this thread is in; 0 = none.
uint64_t group_number();

// An error in a group is also that of its end.
ncclResult_t note_in_group(ncclResult_t error);

}  // namespace virtual_gpu
