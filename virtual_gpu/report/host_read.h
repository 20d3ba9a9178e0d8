// Values on a virtual card are zeros: a program that reads some back and decides by them does not
// take the branch it would take on a card. The first small read says so, and the report says where
// all of them were.
//
// Note [Values that steer]
// Rationale: reads of device values are the limit of a virtual card: what was read may decide how
//   long a loop runs, which experts run or whether a kernel's result is taken.
// Approach: every small copy to the host is a read. In a Python program the hook is told of each;
//   it knows the line, what was called there and what becomes of the result, may write an answer in
//   place of the zeros (headroom dryrun --value), and names a loop that reads without end. In other
//   programs the call stacks are kept and counted, and named when the report is written;
//   bench/dryrun/report/host_reads.h judges both.
// Limits: whether a value that was stored decides something later is not known: such reads "may
//   steer". Copies beyond the sizes below are taken for data. What the device itself decides by its
//   values (a kernel with a branch) is no read.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_gpu/device/call_stack.h"

namespace virtual_gpu {

// One copy of device memory to the host, after `to` was filled with zeros. `to` is nullptr where it
// is not in one piece.
void note_host_read(void* to, const void* from, uint64_t bytes);

// Copies of at most this size are what `.item()`, nonzero() and loss scaling read.
constexpr uint64_t kDecisionBytes = 64;
// Larger ones Python's hook judges by what the line calls: up to this size lists are read.
constexpr uint64_t kListBytes = 64 << 10;

uint64_t small_host_reads();

struct HostReadPlace {
  CallStack stack;
  uint64_t reads = 0;
  uint64_t bytes = 0;  // of all of them
};

// Of a program without Python's hook; the first 200 different stacks.
std::vector<HostReadPlace> host_read_places();

}  // namespace virtual_gpu

// What to call at every small read, instead of what is done for a C++ program. It may write to
// `to`. nullptr: nobody.
extern "C" void virtual_gpu_on_host_read(void (*callback)(void* to, const void* from,
                                                          uint64_t bytes));
