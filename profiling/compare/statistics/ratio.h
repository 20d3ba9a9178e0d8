// The ratio of two programs' times, with its uncertainty. No torch here.
//
// Note [Ratios of processes]
// Rationale: the steps of one process are not independent: they share its memory layout, its
//   threads' cores and the machine's state. An interval over steps is far too narrow, so the unit
//   is the process: one number each, its median step. Machines drift over minutes, so two processes
//   that ran one after the other are compared, and only their ratio counts.
// Approach: the mean of the logarithms of the ratios (the geometric mean of the ratios) and its
//   bootstrap interval: the values are drawn again with replacement, kResamples times, and the
//   interval is the middle part of the drawn means. For few values that interval is too narrow.
//   The percentiles are therefore expanded as by Hesterberg, "What Teachers Should Know About the
//   Bootstrap" (The American Statistician 69:4, 2015), section 4.3: to Phi(-t * sqrt(n / (n - 1))),
//   with t of Student's distribution with n - 1 degrees of freedom.
//   The probability that a difference is due to chance is Student's: the bootstrap has no tail of
//   the length that many cells need (profiling/compare/statistics/false_discovery.h).
// Limits: the draws begin with a fixed seed, so equal data give equal text.
#pragma once

#include <vector>

namespace headroom {

inline constexpr int kResamples = 10'000;
inline constexpr double kConfidence = 0.95;

// Natural logarithms: 0.01 is 1 % more. Infinite bounds for fewer than two values.
struct LogRatio {
  double mean = 0;
  double low = 0;  // the interval of kConfidence
  double high = 0;
  double chance = 1;  // probability of a mean at least as far from 0, if there is no difference
  int count = 0;      // of pairs; of the smaller sample

  double half_width() const { return (high - low) / 2; }
};

// The mean ratio of pairs: `logs` has the logarithm of the ratio of each pair of processes.
LogRatio paired_ratio(const std::vector<double>& logs);

// The mean ratio of b over a, from the logarithms of times that are not in pairs. Student's t with
// the unpooled variances, and the degrees of freedom of the smaller sample: conservative (Hsu,
// 1938).
LogRatio unpaired_ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom
