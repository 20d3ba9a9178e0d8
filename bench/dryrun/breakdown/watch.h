// The ledgers of this process's devices, for the listeners to Python and to C++ programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

// Calls about the blocks of a C++ program; null: not wanted.
struct OnProgramBlocks {
  uint32_t (*place)() = nullptr;  // gives the number of the running line; null: no breakdown
  // Both under the allocator's lock.
  void (*begins)(const void* first_block) = nullptr;
  void (*allocates)() = nullptr;
  // Before libtorch throws that memory ran out.
  void (*refused)(int device, int64_t wanted) = nullptr;
};
// Hears of the blocks from now on; false if they are not reported.
bool hear_blocks(const OnProgramBlocks& calls);
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
// The program's own words of a block; false if none is at `address`.
bool name_block(uintptr_t address, Category purpose, uint32_t owner);
void end_step_of(uint32_t optimizer);
// The peaks and steps of all devices; nothing is recorded afterwards.
nlohmann::json finished_ledgers();

}  // namespace headroom
