// What the host link costs a step at least. No torch here.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "train/offload/host_traffic.h"
#include "train/spec.h"

namespace headroom {

// Note [The least time of copies]
// Rationale: "offload makes a step 2 to 3 times as long" holds for one model, card and batch. What
//   decides it are two times that follow from figures that are known.
// Approach: bytes over the link's peak rate, one way after the other as they share a stream, beside
//   the useful arithmetic of a step (profiling/flops.h) at the card's dense peak. Copies that take
//   less can hide behind it; where they take more, no step is shorter than they are. Weights that
//   the host has updated come back when backward has ended, beside no arithmetic: theirs comes on
//   top.
// Limits: both are lower bounds, and neither is reached: links give 70 to 90 % of their peak, steps
//   30 to 60 % of theirs. The host's own update is not in it.
struct HostLinkTimes {
  double copies_s = 0;
  double alone_s = 0;  // of them, beside no arithmetic
  double arithmetic_s = 0;

  // A step, to one whose copies take no time.
  double ratio() const {
    return (std::max(copies_s - alone_s, arithmetic_s) + alone_s) / arithmetic_s;
  }
};
// Nothing for a device whose rates are not known.
std::optional<HostLinkTimes> host_link_times(const RunSpec& spec, const HostTraffic& traffic);

// Lines for people.
std::vector<std::string> host_link_notes(const RunSpec& spec, const HostTraffic& traffic);

}  // namespace headroom
