#include "cli/flags/runs/compare_flags.h"

#include <utility>

#include "cli/flags/flag_values.h"
#include "files/atomic_file.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

constexpr const char* kRunExample = "--run ./before.sh --run ./after.sh";
constexpr int64_t kMostRounds = 1000;

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

}  // namespace

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

CompareRequest compare_from(const Arguments& arguments, std::vector<std::string> runs) {
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

}  // namespace headroom
