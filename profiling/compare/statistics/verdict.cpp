#include "profiling/compare/statistics/verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "profiling/compare/statistics/false_discovery.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMostRounds = 200;  // more is a job for a quieter machine

// Intervals shrink with the square root of their values.
std::optional<int64_t> needed_processes(const Judgement& judged) {
  const double effect = std::abs(judged.ratio.mean);
  const bool differs = effect > kLeastEffect;
  const double aim = differs ? effect : kLeastEffect - effect;
  const double now =
      differs ? std::max(judged.ratio.half_width(), judged.floor) : judged.ratio.half_width();
  if (!std::isfinite(now) || aim <= 0) return std::nullopt;
  constexpr double kReserve = 1.2;
  const double needed = std::ceil(kReserve * judged.ratio.count * (now / aim) * (now / aim));
  if (needed > kMostRounds) return std::nullopt;
  return std::max<int64_t>(static_cast<int64_t>(needed), judged.ratio.count + 1);
}

void leave_undecided(Judgement& judged, std::string reason) {
  judged.verdict = TimeVerdict::kUndecided;
  judged.reason = std::move(reason);
  judged.needed = needed_processes(judged);
}

}  // namespace

std::string to_string(TimeVerdict verdict) {
  switch (verdict) {
    case TimeVerdict::kFaster:
      return "FASTER";
    case TimeVerdict::kSlower:
      return "SLOWER";
    case TimeVerdict::kSame:
      return "SAME";
    case TimeVerdict::kUndecided:
      break;
  }
  return "UNDECIDED";
}

std::string percent_text(double log_ratio, int decimals) {
  if (!std::isfinite(log_ratio)) return log_ratio < 0 ? "-100 %" : "+inf";
  const std::string text = number_text(100 * std::expm1(log_ratio), decimals);
  return (text.starts_with('-') ? "" : "+") + text + " %";
}

Judgement judge(const LogRatio& b_over_a, const LogRatio& a_over_a) {
  Judgement judged{.ratio = b_over_a};
  if (b_over_a.count < 2 || a_over_a.count < 2) {
    judged.reason = "one process of each: its steps are not independent of one another";
    judged.floor = kLeastEffect;
    return judged;
  }
  judged.floor = std::max({kLeastEffect, a_over_a.half_width(), std::abs(a_over_a.mean)});
  const double effect = std::abs(b_over_a.mean);
  const bool excludes_one = b_over_a.low > 0 || b_over_a.high < 0;
  const bool is_within = std::max(std::abs(b_over_a.low), std::abs(b_over_a.high)) <= judged.floor;
  const std::string floor = number_text(100 * std::expm1(judged.floor), 1) + " %";
  if (excludes_one && effect > judged.floor) {
    judged.verdict = b_over_a.mean < 0 ? TimeVerdict::kFaster : TimeVerdict::kSlower;
  } else if (is_within) {
    judged.verdict = TimeVerdict::kSame;
  } else if (excludes_one) {
    leave_undecided(judged, "the difference is not above the floor of " + floor);
  } else {
    leave_undecided(judged, "the interval includes 0 % and is wider than the floor of " + floor);
  }
  return judged;
}

void judge_together(std::vector<Judgement*> judgements) {
  std::erase_if(judgements, [](const Judgement* judged) { return judged->ratio.count < 2; });
  std::vector<double> chances;
  chances.reserve(judgements.size());
  for (const Judgement* judged : judgements) chances.push_back(judged->ratio.chance);
  const std::vector<bool> found = discoveries(chances, 1 - kConfidence);
  for (size_t i = 0; i < judgements.size(); ++i) {
    const TimeVerdict verdict = judgements[i]->verdict;
    const bool differs = verdict == TimeVerdict::kFaster || verdict == TimeVerdict::kSlower;
    if (!differs || found[i]) continue;
    leave_undecided(*judgements[i], "among " + std::to_string(judgements.size()) +
                                        " cells a difference like this one may be chance");
  }
}

}  // namespace headroom
