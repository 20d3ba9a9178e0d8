#include "profiling/snapshot/snapshot.h"

#include <array>
#include <cstdio>
#include <utility>

namespace headroom {
namespace {

constexpr std::array<std::pair<TraceAction, const char*>, 9> kActionWords = {
    {{TraceAction::kAlloc, "alloc"},
     {TraceAction::kFreeRequested, "free_requested"},
     {TraceAction::kFreeCompleted, "free_completed"},
     {TraceAction::kSegmentAlloc, "segment_alloc"},
     {TraceAction::kSegmentFree, "segment_free"},
     {TraceAction::kSegmentMap, "segment_map"},
     {TraceAction::kSegmentUnmap, "segment_unmap"},
     {TraceAction::kSnapshot, "snapshot"},
     {TraceAction::kOom, "oom"}}};

}  // namespace

std::string to_string(TraceAction action) {
  for (const auto& [known, word] : kActionWords) {
    if (known == action) return word;
  }
  return "snapshot";
}

bool from_string(const std::string& word, TraceAction* action) {
  for (const auto& [known, known_word] : kActionWords) {
    if (word == known_word) {
      *action = known;
      return true;
    }
  }
  return false;
}

std::string hex_address(uint64_t address) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace headroom
