// Changes with which a program that ran out of memory fits, each tried by a run. No torch here.
//
// Note [Advice, tried]
// Rationale: advice that was not run is a guess: another setting of the allocator may need more
//   memory, and a smaller batch may still not fit.
// Approach: the program runs again, with each of the allocator's settings that `headroom fit`
//   tries, and then with smaller values of --vary, by the same search. Only runs that ended well
//   are advice. Their output is not shown.
// Limits: no run begins after 10 minutes of runs. A program that trains for long has to be told
//   to end after some steps, as in every dry run.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/dryrun/dryrun.h"
#include "plan/fit/vary.h"

namespace headroom {

// `words`: the program with the place of `vary`, whose largest value ran out of memory. An array of
// the runs that fit, and the number of all: {"runs": 4, "fits": [{"change", "peak_reserved_bytes",
// "beyond"}]}, "beyond" being the reason why the next value does not fit.
nlohmann::ordered_json try_advice(const DryRun& refused, const std::optional<Vary>& vary,
                                  const std::vector<std::string>& words,
                                  const HeldSignals& signals);

// Lines for people.
std::string advice_text(const nlohmann::ordered_json& advice);

}  // namespace headroom
