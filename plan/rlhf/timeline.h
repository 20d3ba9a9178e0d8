// The timeline: memory by kind, phase after phase, as a drawing and as SVG. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/rlhf/report.h"

namespace headroom {

inline constexpr size_t kComponentKinds = 7;
std::string to_string(ComponentKind kind);  // "KV cache"

// One stretch of the timeline, a phase or the swap between two.
struct Stretch {
  std::string name;  // "generation"; "swap"
  bool is_phase = true;
  std::array<int64_t, kComponentKinds> bytes{};  // by ComponentKind
  int64_t total() const;
};
struct Timeline {
  std::vector<Stretch> stretches;
  int64_t available = 0;        // memory of the GPU
  int64_t highest() const;      // of the stretches and what is available
  bool has(size_t kind) const;  // anywhere
};
// A swap holds what is there before and after it. Widths mean nothing: no time is computed.
Timeline timeline(const RlhfPlan& plan);

// For a terminal: a legend, and a line where the GPU's memory ends.
std::string drawing(const Timeline& timeline, const TextStyle& style);

// A whole file: no script, no font, no reference to another one.
std::string svg(const Timeline& timeline, const std::string& title);

}  // namespace headroom
