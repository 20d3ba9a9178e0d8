// The ledgers of this process's devices, for the listeners to Python and to C++ programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/dryrun/breakdown/category.h"

namespace headroom {

// Hears of the blocks of a C++ program from now on; false if they are not reported.
bool hear_blocks();
// pairs: an address and the number of its owner, `count` times.
void tag(const uint64_t* pairs, size_t count, Category purpose);
void end_step_of(uint32_t optimizer);
// The peaks and steps of all devices, as JSON; nothing is recorded afterwards.
std::string finished_ledgers();

}  // namespace headroom
