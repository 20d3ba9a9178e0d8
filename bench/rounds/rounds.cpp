#include "bench/rounds/rounds.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "bench/process/child_process.h"
#include "bench/process/program_folder.h"

namespace headroom {
namespace {

enum class Arm { kA, kAgain, kB };

// PATH with this program's folder first.
std::vector<std::string> environment_of_rounds() {
  const char* path = std::getenv("PATH");
  return changed_environment(
      {}, {"PATH=" + program_folder() + (path == nullptr ? "" : ":" + std::string(path))});
}

std::string failure_in_words(const std::string& command, const Outcome& outcome) {
  std::string reason = "printed no Record and no benchmark";
  if (!outcome.spawn_error.empty()) {
    reason = outcome.spawn_error;
  } else if (outcome.signal != 0) {
    reason = "ended by signal " + signal_name(outcome.signal);
  } else if (outcome.exit_code != 0) {
    reason = "exit code " + std::to_string(outcome.exit_code);
  }
  if (!outcome.last_error_line.empty()) reason += ": " + outcome.last_error_line;
  const bool prints_a_table = outcome.exit_code == 0;
  return "--run '" + command + "': " + reason +
         (prints_a_table ? "; add --format json, or --benchmark_format=json to headroom_bench"
                         : "");
}

// Empty after ^C.
std::vector<Result> results_of_process(const std::string& command, int round, Arm arm) {
  const Outcome outcome = run_command(
      {.program = "/bin/sh", .arguments = {"-c", command}, .environment = environment_of_rounds()});
  if (outcome.interrupted) return {};
  // Cells that failed are results too, whatever the exit code.
  std::vector<Result> results = results_of_output(outcome.output);
  if (results.empty()) throw FailedCommand(failure_in_words(command, outcome));
  for (Result& result : results) {
    result.round = round;
    result.again = arm == Arm::kAgain;
  }
  return results;
}

std::string progress_line(int done, int round, int rounds, Arm arm) {
  constexpr std::array<const char*, 3> kNames = {"A", "A again", "B"};
  return "[" + std::to_string(done) + "/" + std::to_string(kNames.size() * rounds) + "] round " +
         std::to_string(round + 1) + " of " + std::to_string(rounds) + ": " +
         kNames[static_cast<size_t>(arm)];
}

}  // namespace

RoundResults run_rounds(const Rounds& rounds) {
  RoundResults all;
  std::array<Arm, 3> order = {Arm::kA, Arm::kAgain, Arm::kB};
  int done = 0;
  for (int round = 0; round < rounds.count; ++round) {
    for (const Arm arm : order) {
      rounds.on_process(progress_line(++done, round, rounds.count, arm));
      std::vector<Result> results =
          results_of_process(arm == Arm::kB ? rounds.b : rounds.a, round, arm);
      all.interrupted = results.empty();
      if (all.interrupted) return all;
      std::vector<Result>& side = arm == Arm::kB ? all.b : all.a;
      std::move(results.begin(), results.end(), std::back_inserter(side));
    }
    std::next_permutation(order.begin(), order.end());
  }
  return all;
}

}  // namespace headroom
