// States with known bits at every step, to detect incomplete steps.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "text/hash.h"
#include "train/offload/disk/disk_states.h"

namespace headroom {

// Large and small regions, multiples of a block and others, one number and none.
inline std::vector<StateRegion> known_regions() {
  return {{"embedding", 40000}, {"norm", 7}, {"none", 0},
          {"weight", 8192},     {"bias", 1}, {"head", 30001}};
}

// About thirty blocks for these regions.
constexpr int64_t kKnownBlockBytes = 32 << 10;

enum class StateArray { kMaster, kM, kV };

inline float known_value(int region, int64_t number, StateArray array, int64_t step) {
  uint64_t hash = static_cast<uint64_t>(step) * 3 + static_cast<uint64_t>(array);
  mix(hash, static_cast<uint64_t>(region));
  mix(hash, static_cast<uint64_t>(number));
  return static_cast<float>(hash >> 40);  // 24 bits: exact
}

inline void write_known(const StatesInMemory& states, int64_t step) {
  for (int64_t i = 0; i < states.numbers; ++i) {
    const int64_t number = states.first + i;
    states.master[i] = known_value(states.region, number, StateArray::kMaster, step);
    states.m[i] = known_value(states.region, number, StateArray::kM, step);
    states.v[i] = known_value(states.region, number, StateArray::kV, step);
  }
}

// Counts numbers that differ from those of that step.
inline int64_t count_unknown(const StatesInMemory& states, int64_t step) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < states.numbers; ++i) {
    const int64_t number = states.first + i;
    wrong += states.master[i] != known_value(states.region, number, StateArray::kMaster, step);
    wrong += states.m[i] != known_value(states.region, number, StateArray::kM, step);
    wrong += states.v[i] != known_value(states.region, number, StateArray::kV, step);
  }
  return wrong;
}

// The order of gradients: the last parameter first.
inline std::vector<int> backward_order() {
  std::vector<int> order(known_regions().size());
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Runs one step between known states; returns the number of wrong values.
inline int64_t known_step(DiskStates& states) {
  const int64_t step = states.steps_done();
  int64_t wrong = 0;
  states.step(backward_order(), [&](const StatesInMemory& block) {
    wrong += count_unknown(block, step);
    write_known(block, step + 1);
  });
  return wrong;
}

inline void known_fill(DiskStates& states) {
  states.fill([](const StatesInMemory& block) { write_known(block, 0); });
}

// Counts numbers on the disk that differ from those of steps_done(); checks every number once.
inline int64_t count_unknown_on_disk(DiskStates& states) {
  int64_t wrong = 0;
  int64_t missing = 0;
  for (const StateRegion& region : known_regions()) missing += region.numbers;
  states.read([&](const StatesInMemory& block) {
    wrong += count_unknown(block, states.steps_done());
    missing -= block.numbers;
  });
  return wrong + (missing < 0 ? -missing : missing);
}

}  // namespace headroom
