// The least time that the host link and a disk cost a step. No torch here.
#pragma once

#include <optional>

#include "profiling/theory/host/disk_rate.h"
#include "train/offload/host_traffic.h"
#include "train/offload/states/host_states.h"
#include "train/settings/spec.h"

namespace headroom {

// Note [The least time of copies]
// Rationale: "offload makes a step 2 to 3 times as long" and "from a disk 5 to 10 times" hold for
//   one model, card and batch. The times behind them follow from known figures.
// Approach: bytes over the link's peak rate, one way after the other as they share a stream, and
//   bytes over the disk's, beside the useful arithmetic of a step (profiling/flops.h) at the card's
//   dense peak. Shorter transfers can hide behind it; no step is shorter than the longer ones.
//   Weights that the host has updated, and states and new weights on a disk, move after backward,
//   beside no arithmetic but beside one another: the longer of the two is added. No card gives the
//   rate of a disk: it is typed, or bounded by the disk's link.
// Limits: all are lower bounds, and none is reached: links give 70 to 90 % of their peak, steps 30
//   to 60 % of theirs, a disk that writes for minutes often less than half of its data sheet's
//   rate. The host's own update is not included.
struct Transfers {
  double beside_s = 0;  // while the card computes
  double alone_s = 0;   // after backward

  double all_s() const { return beside_s + alone_s; }
};

struct LeastTimes {
  double arithmetic_s = 0;  // at its peak
  Transfers link;
  Transfers disk;

  // Seconds of a step whose arithmetic reaches that part of its peak.
  double step_s(double of_the_peak = 1) const;
  // The ratio to a step whose transfers take no time.
  double ratio(double of_the_peak = 1) const {
    return step_s(of_the_peak) * of_the_peak / arithmetic_s;
  }
};

// The part that steps reach.
inline constexpr double kUsualPartOfThePeak = 0.4;

// For the bytes that one step moves. Empty for a device without known rates.
std::optional<LeastTimes> least_times(const RunSpec& spec, const HostTraffic& traffic,
                                      const DiskFigures& disk, const DiskRate& rate = {});

}  // namespace headroom
