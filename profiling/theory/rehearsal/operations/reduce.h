// The memory of a reduction itself. No torch here.
#pragma once

#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

// One result from every `inputs` numbers, either neighbours (`inner`) or the rows of a matrix.
struct Reduction {
  int64_t outputs = 1;
  int64_t inputs = 1;
  bool inner = true;
  int64_t partial_bytes = 4;  // of what is passed on between blocks of threads
};

// If few results are sums of many numbers each, blocks of threads share one and meet in memory
// that the kernel allocates and frees: setReduceConfig() of ATen/native/cuda/Reduce.cuh.
void meet_in_memory(Run& run, const Reduction& reduction);

}  // namespace headroom
