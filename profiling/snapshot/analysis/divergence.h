// Why two snapshots differ: the code that holds more, at the moment of the largest divergence. No
// torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/analysis/diff.h"
#include "profiling/snapshot/analysis/live_blocks.h"

namespace headroom {

// The live allocations of one line of code, or of one whole stack.
struct LineDifference {
  std::string line;     // "train.py:12 step"; "" = no stack was recorded
  std::string purpose;  // "gradients"; "" = not in the snapshots
  int64_t bytes_a = 0, count_a = 0;
  int64_t bytes_b = 0, count_b = 0;

  int64_t change() const { return bytes_b - bytes_a; }
};

struct SettingDifference {
  std::string name, a, b;
};

// Each snapshot's own side of the moment.
struct SideOfMoment {
  int64_t device = 0;  // the fullest one
  int64_t peak_bytes = 0;
  int64_t event = -1;  // the moment is after it; -1 = before the first
  int64_t bytes = 0;   // live then
  std::string phase;
  int64_t tail = 0;  // allocations after the other's end that were not compared
};

struct SnapshotDivergence {
  SnapshotDiff diff;  // whether both allocators did the same
  std::vector<SettingDifference> settings;
  SideOfMoment a, b;
  std::vector<LineDifference> lines;  // that differ then, largest change first

  bool same() const { return diff.same(); }
};

// The frames that name a line of code: the innermost of the program, or all.
enum class ShownFrames { kOwn, kAll };

// Note [The moment of the largest divergence]
// Rationale: the peaks of two programs may be of different moments, and then most of what is live
//   differs for no reason of interest.
// Approach: the moments of both are paired (Note [Moments of two programs]); of all pairs the one
//   whose live bytes differ most. Only moments after an allocation count: blocks that are freed in
//   a row have no order (profiling/snapshot/analysis/diff.h). If live bytes never differ, it is A's
//   peak. A line that only moved within its function is the same line.
// Limits: one device of each, the fullest.
SnapshotDivergence compare_snapshots(const Snapshot& a, const Snapshot& b,
                                     ShownFrames frames = ShownFrames::kOwn);

}  // namespace headroom
