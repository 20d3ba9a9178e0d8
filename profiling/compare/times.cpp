#include "profiling/compare/times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "profiling/report/times/step_times.h"

namespace headroom {
namespace {

using Measure = std::optional<double> (*)(const Result&);  // of one process
using Values = std::vector<double>;

std::optional<double> milliseconds(const Result& result) {
  const auto times = step_times(result.record.step_ms);
  const bool is_usable =
      result.record.status == Status::kOk && times.has_value() && times->median_ms > 0;
  return is_usable ? std::optional(times->median_ms) : std::nullopt;
}

// The card's cycles, in thousands. Empty where the driver told no clock.
std::optional<double> cycles(const Result& result) {
  const auto ms = milliseconds(result);
  const nlohmann::json& environment = result.record.environment;
  const auto lowest = "/nvml/sm_clock_mhz/lowest"_json_pointer;
  const auto highest = "/nvml/sm_clock_mhz/highest"_json_pointer;
  if (!ms || !environment.contains(lowest) || !environment.contains(highest)) return std::nullopt;
  return *ms * (environment[lowest].get<double>() + environment[highest].get<double>()) / 2;
}

struct RoundOfLogs {
  std::optional<double> a, again, b;
};

std::vector<RoundOfLogs> rounds_of(const CellPair& pair, Measure measure) {
  std::map<int, RoundOfLogs> rounds;
  const auto put = [&](const Result* result, std::optional<double> RoundOfLogs::*place) {
    if (const auto value = measure(*result)) rounds[result->round].*place = std::log(*value);
  };
  for (const Result* result : pair.a) {
    put(result, result->again ? &RoundOfLogs::again : &RoundOfLogs::a);
  }
  for (const Result* result : pair.b) put(result, &RoundOfLogs::b);
  std::vector<RoundOfLogs> whole;
  for (const auto& [number, round] : rounds) {
    if (round.a && round.again && round.b) whole.push_back(round);
  }
  return whole;
}

Judgement judge_rounds(const CellPair& pair, Measure measure) {
  Values differences, floors;
  for (const RoundOfLogs& round : rounds_of(pair, measure)) {
    differences.push_back(*round.b - (*round.a + *round.again) / 2);
    floors.push_back(*round.again - *round.a);
  }
  return judge(paired_ratio(differences), paired_ratio(floors));
}

Values measured_of(const std::vector<const Result*>& results, Measure measure) {
  Values values;
  for (const Result* result : results) {
    if (const auto value = measure(*result)) values.push_back(*value);
  }
  return values;
}

Values logs_of(Values values) {
  for (double& value : values) value = std::log(value);
  return values;
}

Judgement judge_files(const CellPair& pair, Measure measure) {
  const Values a = logs_of(measured_of(pair.a, measure));
  const Values b = logs_of(measured_of(pair.b, measure));
  Judgement judged = judge(unpaired_ratio(a, b), unpaired_ratio(a, a));
  const bool differs =
      judged.verdict == TimeVerdict::kFaster || judged.verdict == TimeVerdict::kSlower;
  if (differs && judged.ratio.count < kFewestOfFiles) {
    judged.verdict = TimeVerdict::kUndecided;
    judged.reason = "files with " + std::to_string(judged.ratio.count) +
                    " processes of a side decide nothing; " + std::to_string(kFewestOfFiles) +
                    " are needed";
  }
  return judged;
}

Judgement judged_by(const CellPair& pair, Measure measure) {
  return pair.a.front()->round < 0 ? judge_files(pair, measure) : judge_rounds(pair, measure);
}

bool all_have(const std::vector<const Result*>& results, Measure measure) {
  return std::all_of(results.begin(), results.end(),
                     [&](const Result* result) { return measure(*result).has_value(); });
}

// A difference in time that the clock explains is none of the programs.
void confirm_in_cycles(const CellPair& pair, Judgement& judged) {
  const bool differs =
      judged.verdict == TimeVerdict::kFaster || judged.verdict == TimeVerdict::kSlower;
  if (!differs || !all_have(pair.a, cycles) || !all_have(pair.b, cycles)) return;
  const Judgement in_cycles = judged_by(pair, cycles);
  if (in_cycles.verdict == judged.verdict) return;
  judged.reason = "in clock cycles it is " + percent_text(in_cycles.ratio.mean) + ", " +
                  to_string(in_cycles.verdict) + ": the card's clock differed";
  judged.verdict = TimeVerdict::kUndecided;
}

std::vector<std::string> notes_of(const CellPair& pair) {
  std::set<std::string> notes;
  for (const auto* results : {&pair.a, &pair.b}) {
    for (const Result* result : *results) {
      notes.insert(result->record.notes.begin(), result->record.notes.end());
    }
  }
  return {notes.begin(), notes.end()};
}

}  // namespace

std::optional<TimeDifference> compare_times(const CellPair& pair) {
  const Values a = measured_of(pair.a, milliseconds);
  const Values b = measured_of(pair.b, milliseconds);
  if (a.empty() || b.empty()) return std::nullopt;
  TimeDifference difference{.a_ms = step_times(a)->median_ms,
                            .b_ms = step_times(b)->median_ms,
                            .judged = judged_by(pair, milliseconds),
                            .notes = notes_of(pair)};
  if (difference.judged.ratio.count == 0) difference.judged.reason = "no round has all its times";
  confirm_in_cycles(pair, difference.judged);
  return difference;
}

}  // namespace headroom
