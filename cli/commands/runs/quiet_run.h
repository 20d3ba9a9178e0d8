// A dry run whose output is caught: stdout and stderr are for our tables. No torch here.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/dryrun/dryrun.h"
#include "plan/fit/vary.h"

namespace headroom {

struct QuietRun {
  ProgramRun run;  // its reason: where memory ran out, or the program's last line
  DryRunOutcome outcome;
  nlohmann::ordered_json document;  // dryrun_document
  std::string output;               // of the program, at most its last 16 MiB
};

// `output`: the program's, for the reason of a failure.
ProgramRun judged_run(const DryRunOutcome& outcome, const nlohmann::ordered_json& document,
                      const std::string& output);

// Blocks until the program ended. Throws what run_dry does.
QuietRun run_quietly(const DryRun& request, const HeldSignals& signals);

}  // namespace headroom
