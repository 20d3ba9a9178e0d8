// Two commands in turn, for a comparison of their times. No torch here.
//
// Note [Rounds]
// Rationale: a machine drifts: its clock, its temperature, its other work. Seven processes of A and
//   then seven of B measure the drift too. In turn, both sides have a part of each minute, and the
//   processes of one round are compared with each other.
// Approach: a round has A, A again and B, in an order that changes from round to round through all
//   six, so no side is always first or always farther from the other. The second A is the noise:
//   the same program, in the same minutes.
// Limits: a drift within one round that repeats with the period of six rounds.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiling/compare/result.h"

namespace headroom {

struct Rounds {
  std::string a, b;  // commands for a shell, which print results: profiling/compare/result.h
  int count = 7;
  std::function<void(const std::string& line)> on_process;  // "[2/21] round 1 of 7: B"
};

// A command that failed or printed no result. what() is one line.
class FailedCommand : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RoundResults {
  std::vector<Result> a, b;
  bool interrupted = false;  // by ^C: bench/process/interrupt.h
};

// `headroom` and `headroom_bench` in a command are this build's, unless they have a path. Throws
// FailedCommand, and the exceptions of run_command().
RoundResults run_rounds(const Rounds& rounds);

}  // namespace headroom
