// The time of one cell in two sets of processes. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiling/compare/cells.h"
#include "profiling/compare/statistics/verdict.h"

namespace headroom {

// A verdict from files alone needs this many processes of each side: they did not run in turn, so
// the machine's drift is in the difference.
inline constexpr int kFewestOfFiles = 5;

struct TimeDifference {
  double a_ms = 0;  // the median over processes of their median steps
  double b_ms = 0;
  Judgement judged;
  std::vector<std::string> notes;  // what the driver said of the card: throttled, in use
};

// Note [Times in turn and times from files]
// Rationale: processes that ran in turn (Result::round) are compared round by round. Files tell
//   nothing of the minutes in which the other side ran.
// Approach: a round has A, A again and B. The pairs of A and A give the floor; B is compared with
//   the mean of both. Files are compared as two samples, and their floor is the difference that two
//   such samples of A would have. Where the driver told the clock, FASTER and SLOWER must hold in
//   clock cycles too: a card that was clocked lower is no slower program.
// Limits: cycles are of the mean of the lowest and the highest clock seen.
//
// Empty if a side has no times. Results of a round without a partner are left out.
std::optional<TimeDifference> compare_times(const CellPair& pair);

}  // namespace headroom
