// Faster, slower, the same, or undecided: the rules. No torch here.
//
// Note [Verdicts on times]
// Rationale: tools that call a difference by its interval alone call many differences between equal
//   programs: the next process of the same program differs by more than its interval, and half a
//   percent matters to nobody.
// Approach: the floor is the larger of kLeastEffect and the A/A floor: the difference of A from A
//   that was seen, or that its interval allows (half its width), the larger of both. FASTER and
//   SLOWER need an interval without 0 % and an effect above the floor; SAME needs the whole
//   interval within the floor; the rest is UNDECIDED, with its reason. Where several cells are
//   compared, FASTER and SLOWER must also be discoveries
//   (profiling/compare/statistics/false_discovery.h).
// Limits: the A/A floor holds for the machine and the minutes in which it was measured. If
// something
//   else disturbs every fifth process, more false verdicts are SLOWER than FASTER: B is one process
//   of a round, and A is two (tests/profiling/compare/noise_test.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiling/compare/statistics/ratio.h"

namespace headroom {

inline constexpr double kLeastEffect = 0.01;

enum class TimeVerdict { kFaster, kSlower, kSame, kUndecided };  // B, beside A
std::string to_string(TimeVerdict verdict);                      // "FASTER"

struct Judgement {
  TimeVerdict verdict = TimeVerdict::kUndecided;
  LogRatio ratio;               // of B's time over A's
  double floor = kLeastEffect;  // a logarithm too
  std::string reason;           // of kUndecided, in words
  // The number of processes of each side that would probably decide an UNDECIDED; empty where more
  // of them would not help.
  std::optional<int64_t> needed;
};

// b_over_a: from pairs of A and B; a_over_a: from pairs of A and A.
Judgement judge(const LogRatio& b_over_a, const LogRatio& a_over_a);

// Takes back what may be chance among so many cells: Note [Verdicts on times].
void judge_together(std::vector<Judgement*> judgements);

std::string percent_text(double log_ratio, int decimals = 1);  // "+1.2 %" of log(1.012)

}  // namespace headroom
