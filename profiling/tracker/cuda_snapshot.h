// libtorch's CUDA caching allocator as plain data: its history with our own stacks, and its
// segments.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstddef>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Stacks of our own]
// Rationale: libtorch's recorder captures the same program counters, but returns only names, from
//   an addr2line that it starts for every library. That takes seconds if it runs, and throws if it
//   does not. And it names one function of an inlined chain.
// Approach: the allocator accepts any context for an allocation. Ours is the number of a stack in
//   one table of the process, which lives as long as blocks may refer to it.
// Limits: no frames of Python or TorchScript; our programs have none.

// Begins an empty history of at most `max_entries` events of all devices, after CUDA was started.
// contexts: the moments that have a stack.
void record_cuda_history(size_t max_entries,
                         c10::cuda::CUDACachingAllocator::RecordContext contexts);
void end_cuda_history();
// A block that this thread allocates just now, in its own segment, before the history begins.
void note_early_block(uint64_t address);

// The segments of `device` and the history of all devices, with names for their stacks.
inline constexpr int kEveryDevice = -1;
Snapshot cuda_snapshot(int device);

TraceAction action_of(c10::CachingDeviceAllocator::TraceEntry::Action action);

}  // namespace headroom
