// headroom compare: two sets of Records, two snapshots or two commands, with a verdict.
#include <exception>
#include <utility>

#include "bench/process/interrupt.h"
#include "bench/rounds/rounds.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/repeated_flag.h"
#include "cli/flags/runs/compare_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "files/line_reader.h"
#include "files/mapped_file.h"
#include "plan/fit/answers/command_line.h"
#include "profiling/report/snapshots/divergence.h"
#include "profiling/snapshot/read.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// The exit code, with a line that says why it is not 0.
int code_of_gate(const std::string& failure) {
  if (failure.empty()) return kExitOk;
  log_error("--fail-on: " + failure);
  return kExitOverBudget;
}

[[noreturn]] void refuse_unlike(const std::string& snapshot, const std::string& other) {
  try {
    const MappedFile readable(other);
  } catch (const ReadError& error) {
    throw UsageError(error.what());
  }
  throw UsageError(snapshot + " is a snapshot, and " + other +
                   " is none; allowed: two of a kind (example: " + kCompareExample + ")");
}

int compare_two_snapshots(const CompareRequest& request) {
  std::vector<Table> tables;
  std::string failure;
  try {
    const SnapshotDivergence divergence = compare_snapshots(
        read_snapshot(request.files[0]), read_snapshot(request.files[1]), request.frames);
    tables = divergence_tables(divergence, request.limit);
    failure = failure_of(divergence, request.gate);
    if (!failure.empty()) failure = request.files[1] + ": " + failure;
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitBadFile;
  }
  print_tables(tables, request.format, request.output);
  return code_of_gate(failure);
}

std::vector<Result> results_from(const std::string& path) {
  try {
    SkippedLines skipped;
    std::vector<Result> results = results_of_file(path, &skipped);
    for (const std::string& line : in_words(skipped, path)) log_warning(line);
    return results;
  } catch (const BrokenInput&) {
    throw;  // a fault of the machine, not of the command line
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

// If bytes differ and both Records name their snapshots, those have the lines of code.
void add_lines_of_code(const CompareRequest& request, Comparison& comparison) {
  for (CellComparison& cell : comparison.cells) {
    const std::string& a = cell.pair.a.back()->record.spec.snapshot;
    const std::string& b = cell.pair.b.back()->record.spec.snapshot;
    if (cell.memory.is_equal() || a.empty() || b.empty() || a == b) continue;
    try {
      cell.lines = compare_snapshots(read_snapshot(a), read_snapshot(b), request.frames);
    } catch (const std::exception& error) {
      log_warning(cell.pair.name + ": no lines of code: " + error.what());
    }
  }
}

std::string deciding_command(const CompareRequest& request, const CellPair& pair,
                             int64_t processes) {
  std::vector<std::string> commands = request.runs;
  for (const auto* results : {&pair.a, &pair.b}) {
    if (!request.runs.empty()) break;
    const Result& newest = *results->back();
    commands.push_back(newest.has_spec ? profile_command(newest.record.spec) + " --format json"
                                       : "headroom_bench --benchmark_format=json");
  }
  std::string text = "headroom compare";
  for (const std::string& command : commands) text += " --run " + shell_word(command);
  return text + " --rounds " + std::to_string(processes);
}

int compare_all(const CompareRequest& request, const std::vector<Result>& a,
                const std::vector<Result>& b) {
  CompareOptions options = request.options;
  // Commands that ran in turn on one machine: their environments differ because the commands do.
  options.anyway |= !request.runs.empty();
  Comparison comparison = compare_results(a, b, options);
  add_lines_of_code(request, comparison);
  const auto decides = [&](const CellPair& pair, int64_t processes) {
    return deciding_command(request, pair, processes);
  };
  print_tables(comparison_tables(comparison, decides, request.limit), request.format,
               request.output);
  return code_of_gate(failure_of(comparison, request.gate));
}

int compare_commands(const CompareRequest& request) {
  RoundResults results;
  {
    const InterruptGuard guard;  // ^C ends the process in turn here, elsewhere the program
    const auto on_process = [](const std::string& line) {
      shows_status() ? log_status(line) : log_line(line);
    };
    try {
      results = run_rounds({.a = request.runs[0],
                            .b = request.runs[1],
                            .count = static_cast<int>(request.rounds),
                            .on_process = on_process});
    } catch (const FailedCommand& error) {
      log_status("");
      log_error(error.what());
      return kExitAllFailed;
    }
  }
  log_status("");
  if (results.interrupted) return log_interrupted();
  return compare_all(request, results.a, results.b);
}

int compare(const Arguments& arguments, const std::vector<std::string>& runs) {
  const CompareRequest request = compare_from(arguments, runs);
  if (!request.runs.empty()) return compare_commands(request);
  const bool snapshot_a = is_snapshot(request.files[0]);
  const bool snapshot_b = is_snapshot(request.files[1]);
  if (snapshot_a && snapshot_b) return compare_two_snapshots(request);
  if (snapshot_a != snapshot_b) {
    refuse_unlike(request.files[snapshot_a ? 0 : 1], request.files[snapshot_a ? 1 : 0]);
  }
  const std::vector<Result> a = results_from(request.files[0]);
  return compare_all(request, a, results_from(request.files[1]));
}

}  // namespace

int run_compare_command(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  const std::vector<std::string> runs = take_repeated("--run", words);
  return parse_and_run(compare_command_line(), static_cast<int>(words.size()), words.data(),
                       [&](const Arguments& arguments) { return compare(arguments, runs); });
}

}  // namespace headroom
