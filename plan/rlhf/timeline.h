// The timeline: memory by kind, phase after phase, as a drawing and as SVG. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/rlhf/report.h"

namespace headroom {

inline constexpr size_t kComponentKinds = 7;
std::string to_string(ComponentKind kind);  // "KV cache"

using KindBytes = std::array<int64_t, kComponentKinds>;  // by ComponentKind
int64_t sum(const KindBytes& bytes);

// One stretch of the timeline, a phase or the swap between two.
struct TimelineStretch {
  std::string name;  // "generation"; "swap"
  bool is_phase = true;
  std::vector<KindBytes> instants;    // in sequence, at least one, of equal widths
  std::optional<int64_t> level = {};  // another total to compare, drawn as a line across
  int64_t total() const;              // of the fullest instant
};
struct Timeline {
  std::string title;  // "Memory timeline, one GPU"
  std::vector<TimelineStretch> stretches;
  int64_t available = 0;        // memory of the GPU; 0 = no limit is drawn
  std::string level;            // meaning of the stretches' levels; "" = no levels
  int64_t highest() const;      // of the stretches and `available`
  bool has(size_t kind) const;  // anywhere
};
// A swap shows the components on both its sides. Widths mean nothing: no time is computed.
Timeline timeline(const RlhfPlan& plan);

// For a terminal, with a legend and a line at the GPU's memory limit.
std::string drawing(const Timeline& timeline, const TextStyle& style);

// A complete file: no script, font or external reference.
std::string svg(const Timeline& timeline, const std::string& title);

}  // namespace headroom
