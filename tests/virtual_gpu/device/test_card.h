// A small card for tests: 100 MiB, 4 of them for the context.
#pragma once

#include "virtual_gpu/device/card.h"

inline virtual_gpu::Card test_card(uint64_t total_mib = 100) {
  return virtual_gpu::parse_card(
      "name=Test;compute_capability=8.0;multiprocessors=2;context_bytes=4194304;total_bytes=" +
      std::to_string(total_mib << 20));
}
