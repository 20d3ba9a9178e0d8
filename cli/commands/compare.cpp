// headroom compare: two sets of Records, two snapshots or two commands, with a verdict.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "bench/process/interrupt.h"
#include "bench/rounds/rounds.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/repeated_flag.h"
#include "cli/log.h"
#include "cli/output.h"
#include "files/atomic_file.h"
#include "files/line_reader.h"
#include "files/mapped_file.h"
#include "plan/fit/answers/command_line.h"
#include "profiling/compare/comparison.h"
#include "profiling/compare/gate.h"
#include "profiling/report/snapshots/divergence.h"
#include "profiling/snapshot/read.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kCompareExample = "headroom compare before.jsonl after.jsonl";
constexpr const char* kRunExample = "--run ./before.sh --run ./after.sh";
constexpr int64_t kMostRounds = 1000;

CommandLine compare_command_line() {
  return {
      "compare A B [flags]",
      "Compares two files of Records, two memory_viz snapshots of any PyTorch program, or two\n"
      "commands that run in turn. Bytes are equal or not, with the reason; times get a verdict:\n"
      "FASTER, SLOWER, SAME or UNDECIDED.",
      {{.name = "run",
        .value = "COMMAND",
        .help = "instead of files, and given twice: a command that prints Records (--format json)\n"
                "or benchmarks (headroom_bench --benchmark_format=json)",
        .group = "Times",
        .example = kRunExample},
       {.name = "rounds",
        .value = "N",
        .help = "rounds of A, A again and B, in changing order (default 7)",
        .group = "Times",
        .example = std::string("--rounds 15 ") + kRunExample},
       {"anyway", "", "compare times of environments that differ", "Times"},
       {"across", "LIST", "settings that may differ within a pair: precision,optimizer-impl",
        "Cells"},
       {"framework-frames", "", "show whole stacks, with the frames of frameworks", "Snapshots"},
       {"limit", "N", "number of lines of code; 0 = all (default 10)", "Snapshots"},
       {.name = "fail-on",
        .value = "LIST",
        .help =
            "exit 1 if B is worse: memory (any growth of a peak), memory=SIZE (more growth than\n"
            "that), time=N% (SLOWER by more than that)",
        .group = "Output",
        .example = "--fail-on memory,time=5%"},
       {"format", "WORD", "table, csv, md, json (default table)", "Output"},
       {"output", "FILE", "file to write instead of stdout, completely or not at all", "Output",
        FileUse::kWritten}},
      true,
      0};
}

struct CompareRequest {
  std::vector<std::string> runs;
  std::vector<std::string> files;
  int64_t rounds = 7;
  CompareOptions options;
  ShownFrames frames = ShownFrames::kOwn;
  size_t limit = 10;
  Gate gate;
  TableFormat format = TableFormat::kText;
  std::string output;
};

// The JSON keys of the settings.
std::vector<std::string> across_from(const Arguments& arguments) {
  std::vector<std::string> keys;
  if (!arguments.has("across")) return keys;
  constexpr const char* kExample = "--across precision,optimizer-impl";
  std::vector<std::string> known;
  for (const Field& field : fields()) known.push_back(without_dashes(field.flag()));
  for (const std::string& word : parse_list("--across", arguments.get("across"), kExample)) {
    check_name("--across", word, known, kExample);
    keys.push_back(find_flag("--" + word)->name);
  }
  return keys;
}

void check_sides(const CompareRequest& request, const Arguments& arguments) {
  if (request.runs.empty() && request.files.size() != 2) {
    throw UsageError("compare takes two files, not " + std::to_string(request.files.size()) +
                     "; example: " + kCompareExample);
  }
  if (!request.runs.empty() && !request.files.empty()) {
    throw UsageError("--run", request.runs.front(),
                     "is instead of files, and '" + request.files.front() + "' is given too",
                     kRunExample);
  }
  if (!request.runs.empty() && request.runs.size() != 2) {
    throw UsageError("--run", request.runs.front(),
                     "is needed twice, not " + std::to_string(request.runs.size()) +
                         (request.runs.size() == 1 ? " time" : " times"),
                     kRunExample);
  }
  if (request.runs.empty() && arguments.has("rounds")) {
    throw UsageError("--rounds", arguments.get("rounds"), "is of commands, and files are compared",
                     std::string("--rounds 7 ") + kRunExample);
  }
}

CompareRequest compare_request_of(const Arguments& arguments, std::vector<std::string> runs) {
  CompareRequest request{.runs = std::move(runs), .files = arguments.positional};
  check_sides(request, arguments);
  request.rounds = integer(arguments, "rounds", request.rounds, 2, kMostRounds);
  request.options = {.across = across_from(arguments), .anyway = arguments.has("anyway")};
  if (arguments.has("framework-frames")) request.frames = ShownFrames::kAll;
  request.limit = static_cast<size_t>(integer(arguments, "limit", 10, 0, 1'000'000));
  if (arguments.has("fail-on")) {
    request.gate = parse_gate("--fail-on", arguments.get("fail-on"));
  }
  request.format = parse_table_format("--format", arguments.get("format", "table"));
  request.output = arguments.get("output");
  if (!request.output.empty()) check_writable(request.output);
  return request;
}

// The exit code, with a line that says why it is not 0.
int code_of_gate(const std::string& failure) {
  if (failure.empty()) return kExitOk;
  log_error("--fail-on: " + failure);
  return kExitOverBudget;
}

// Protocols 2 to 5 begin with this byte; JSON never does.
bool is_snapshot(const std::string& path) {
  constexpr char kProtocol = '\x80';
  try {
    return MappedFile(path).bytes().starts_with(kProtocol);
  } catch (const ReadError&) {
    return false;  // a pipe; or reading it as Records says why it cannot be read
  }
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

// Where bytes differ and both Records name their snapshots, the lines of code are in these.
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
  print_tables(comparison_tables(comparison, decides), request.format, request.output);
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
  if (results.interrupted) {
    log_error("interrupted");
    return kExitInterrupted;
  }
  return compare_all(request, results.a, results.b);
}

int compare(const Arguments& arguments, const std::vector<std::string>& runs) {
  const CompareRequest request = compare_request_of(arguments, runs);
  if (!request.runs.empty()) return compare_commands(request);
  const bool snapshot_a = is_snapshot(request.files[0]);
  const bool snapshot_b = is_snapshot(request.files[1]);
  if (snapshot_a && snapshot_b) return compare_two_snapshots(request);
  if (snapshot_a != snapshot_b) {
    throw UsageError(request.files[snapshot_a ? 0 : 1] + " is a snapshot, and " +
                     request.files[snapshot_a ? 1 : 0] +
                     " is none; allowed: two of a kind (example: " + kCompareExample + ")");
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
