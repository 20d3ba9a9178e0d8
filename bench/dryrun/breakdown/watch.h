// The ledgers of this process's devices, for the listeners to Python and to C++ programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

// Hears of the blocks of a C++ program from now on; false if they are not reported. `place` gives
// the number of the running line; `refused` is called before libtorch throws that memory ran out.
bool hear_blocks(uint32_t (*place)(), void (*refused)(int device, int64_t wanted));
// The live memory of a device now, and the running operation and line: `place`, or that of the
// running backward.
struct LiveMemory {
  Instant instant;
  std::string operation;
  std::string place;
};
LiveMemory live_memory(int device, uint32_t place);
// pairs: an address and the number of its owner, `count` times.
void tag(const uint64_t* pairs, size_t count, Category purpose);
void end_step_of(uint32_t optimizer);
// The peaks and steps of all devices; nothing is recorded afterwards.
nlohmann::json finished_ledgers();

}  // namespace headroom
