// Values on a virtual card are zeros: a program that branches on values it reads back may not take
// a real card's branch. A line is printed at the first small read, and the report lists all places.
//
// Note [Data-dependent control flow]
// Rationale: reads of device values are the limit of a virtual card: a value may decide how long a
//   loop runs, which experts run or whether a kernel's result is used.
// Approach: every small copy to the host is a read. In a Python program the hook is called for
//   each; it has the line, the call there and the use of the result, may write an answer in place
//   of the zeros (headroom dryrun --value), and reports a loop that reads without end. In other
//   programs the call stacks are stored and counted, and named in the report;
//   bench/dryrun/report/host_reads.h judges both.
// Limits: a stored value may decide something later, which is not tracked: such reads "may steer".
//   Copies beyond the sizes below count as data. Decisions on the device itself (a kernel with a
//   branch) are no reads.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_gpu/device/call_stack.h"

namespace virtual_gpu {

// One copy of device memory to the host, after `to` was filled with zeros. `to` is nullptr if it is
// not contiguous.
void note_host_read(void* to, const void* from, uint64_t bytes);

// Copies of at most this size are reads of `.item()`, nonzero() and loss scaling.
constexpr uint64_t kDecisionBytes = 64;
// Python's hook judges larger ones by the call in the line: lists are read up to this size.
constexpr uint64_t kListBytes = 64 << 10;

uint64_t small_host_reads();

struct HostReadPlace {
  CallStack stack;
  uint64_t reads = 0;
  uint64_t bytes = 0;  // of all reads
};

// In a program without Python's hook; the first 200 different stacks.
std::vector<HostReadPlace> host_read_places();

}  // namespace virtual_gpu

// Sets the function to call at every small read, in place of the C++ handling. It may write to
// `to`. nullptr: none.
extern "C" void virtual_gpu_on_host_read(void (*callback)(void* to, const void* from,
                                                          uint64_t bytes));
