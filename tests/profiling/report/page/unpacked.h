// Reads a packed history as web/data/history.js does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

struct UnpackedHistory {
  std::vector<int64_t> live;           // bytes at each position: before the first event, after each
  std::vector<int64_t> reserved;       // likewise
  std::vector<int64_t> time_us;        // of each event, from the first
  std::vector<uint64_t> origin_label;  // number + 1 of each origin
};

// Fails the test if bytes are missing or left over.
UnpackedHistory unpacked(const std::string& packed);

}  // namespace headroom
