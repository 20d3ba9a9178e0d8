// Values on a virtual card are zeros: a program that reads some back and decides by them does not
// take the branch it would take on a card. The first small read says so.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// One copy of device memory to the host. Only copies small enough to be decided by count.
void note_host_read(uint64_t bytes);

// Copies of at most this size are what `.item()`, nonzero() and loss scaling read.
constexpr uint64_t kDecisionBytes = 64;

uint64_t small_host_reads();

}  // namespace virtual_gpu

// What to call at the first small read, instead of the line on stderr: the start-up hook of a
// Python program prints the line with its own stack. nullptr: the line with C++ frames.
extern "C" void virtual_gpu_on_host_read(void (*callback)(uint64_t bytes));
