// What RankFigures::moved holds: of every collective ("dp all_reduce") its bytes in a step under
// that name, and in how many calls under the same with kCalls behind it. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "profiling/named.h"

namespace headroom {

inline constexpr std::string_view kCalls = " calls";

inline std::string calls_of(const std::string& collective) {
  return collective + std::string(kCalls);
}

struct MovedParts {
  Named<int64_t> bytes;
  Named<int64_t> calls;  // by the names of the collectives
};

inline MovedParts parts_of(const Named<int64_t>& moved) {
  MovedParts parts;
  for (const auto& [name, value] : moved) {
    const std::string& text = name.text();
    if (text.ends_with(kCalls)) {
      parts.calls[text.substr(0, text.size() - kCalls.size())] = value;
    } else {
      parts.bytes[text] = value;
    }
  }
  return parts;
}

}  // namespace headroom
