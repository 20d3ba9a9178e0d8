// Hashes for lookup, not for security. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace headroom {

inline void mix(uint64_t& hash, uint64_t more) {
  hash ^= more + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
}

inline void mix(uint64_t& hash, std::string_view text) {
  mix(hash, uint64_t{std::hash<std::string_view>{}(text)});
}

}  // namespace headroom
