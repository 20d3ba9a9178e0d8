// Progress reports of a run. No torch here.
//
// Note [Progress of a cell]
// Rationale: a step of a large model takes minutes, and a user wants to see that it progresses.
// Approach: on request ("progress": true), a cell reports its place before each stage and each
//   step, as a line of its stderr that begins with kProgressMark; run_cell() separates these lines
//   from other output. Reports are sent between steps, never inside a timed one, and not more
//   often than a person reads.
// Limits: no progress inside a step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace headroom {

struct Progress {
  std::string device;  // the resolved one: "NVIDIA H200", "virtual:h200"
  std::string stage;   // "building", "warm-up", "measured", "recorded", "writing"
  int64_t step = 0;    // the step that begins now, from 1; 0 = none
  int64_t steps = 0;   // of all stages
};

// Called for each report.
using OnProgress = std::function<void(const Progress&)>;

std::string to_line(const Progress& progress);
std::optional<Progress> progress_of(const std::string& line);  // nothing for any other line

// Seconds until the last step ends, from the duration of the finished steps; nothing before the
// second step. `since_first`: seconds since the first step began.
std::optional<double> seconds_left(const Progress& progress, double since_first);

// "40 s", "3 min", "2 h 5 min": rounded to a forecast's precision.
std::string eta_text(double seconds);

}  // namespace headroom
