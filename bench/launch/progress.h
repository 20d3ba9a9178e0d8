// How far a run has come, told while it runs. No torch here.
//
// Note [Progress of a cell]
// Rationale: a step of a large model takes minutes, and a person wants to know whether it moves.
// Approach: a cell that was asked to (the request's "progress": true) says where it is before each
//   stage and each step, as a line of its stderr that begins with kProgressMark; run_cell() takes
//   these lines out of the cell's talk. AgreedSetting between steps, never inside a timed one, and
//   not more often than a person reads.
// Limits: nothing is said of what happens inside a step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace headroom {

struct Progress {
  std::string device;  // that the run settled on: "NVIDIA H200", "virtual:h200"
  std::string stage;   // "building", "warm-up", "measured", "recorded", "writing"
  int64_t step = 0;    // the one that begins now, from 1; 0 = not one
  int64_t steps = 0;   // of all stages
};

// Told of each of them as it happens.
using OnProgress = std::function<void(const Progress&)>;

std::string to_line(const Progress& progress);
std::optional<Progress> progress_of(const std::string& line);  // nothing of any other line

// Seconds until the last step ends, from how long those before this one took; nothing before the
// second step. `since_first`: seconds since the first step began.
std::optional<double> seconds_left(const Progress& progress, double since_first);

// "40 s", "3 min", "2 h 5 min": no more digits than a forecast deserves.
std::string eta_text(double seconds);

}  // namespace headroom
