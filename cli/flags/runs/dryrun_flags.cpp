#include "cli/flags/runs/dryrun_flags.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bench/dryrun/report/events.h"
#include "bench/launch/cell.h"
#include "cli/flags/runs/rank_flag.h"
#include "files/links.h"
#include "files/same_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMostDevices = 64;
constexpr int64_t kMostRanks = 1 << 20;

// Every process writes its own file beside it, and a single one is renamed to it: so links are
// followed here, and streams are refused.
std::string snapshot_from(const Arguments& arguments) {
  const std::string typed = arguments.get("snapshot");
  if (typed.empty()) return "";
  std::string file = follow_links(typed);
  std::error_code error;
  const auto there = std::filesystem::status(file, error);
  if (named_descriptor(typed) || (exists(there) && !is_regular_file(there))) {
    throw UsageError("--snapshot", typed,
                     "is not a regular file, and every process writes its own file beside it; "
                     "allowed: the name of a file",
                     "--snapshot run.pickle");
  }
  return file;
}

int64_t world_size_of(const Arguments& arguments) {
  if (!arguments.has("world-size")) {
    for (const char* flag : {"rank", "ranks"}) {
      if (!arguments.has(flag)) continue;
      throw UsageError(std::string("--") + flag, arguments.get(flag),
                       "needs --world-size, the ranks of the job", "--world-size 64 --rank 0,63");
    }
    return 0;
  }
  return parse_integer("--world-size", arguments.get("world-size"), 1, kMostRanks);
}

bool is_distinct(const Arguments& arguments) {
  if (!arguments.has("ranks")) return false;
  const std::string text = arguments.get("ranks");
  if (text != "distinct") {
    throw UsageError("--ranks", text, "is unknown; allowed: distinct (--rank selects single ranks)",
                     "--ranks distinct");
  }
  if (arguments.has("rank")) {
    throw UsageError("--ranks", text, "and --rank exclude each other: give one of them",
                     "--ranks distinct");
  }
  return true;
}

// "0,511,1020-1023".
std::vector<int64_t> ranks_of(const Arguments& arguments, int64_t world_size) {
  std::vector<int64_t> ranks;
  if (world_size == 0 || is_distinct(arguments)) return ranks;
  return parse_rank_list("--rank", arguments.get("rank", "0"), world_size);
}

int count_of(const Arguments& arguments, int64_t world_size) {
  if (arguments.has("gpus") && arguments.has("count")) {
    throw UsageError("--gpus", arguments.get("gpus"), "is the same as --count: give one of them",
                     "--gpus 4");
  }
  const std::string flag = arguments.has("gpus") ? "gpus" : "count";
  if (world_size > 0 && !arguments.has(flag)) {
    return static_cast<int>(std::min<int64_t>(world_size, kCardsOfNode));
  }
  return static_cast<int>(parse_integer("--" + flag, arguments.get(flag, "1"), 1, kMostDevices));
}

bool has_breakdown(const Arguments& arguments) {
  const bool has = arguments.has("breakdown");
  if (!has && arguments.has("output")) {
    throw UsageError("--output", arguments.get("output"),
                     "is the file of --breakdown, and that is not given; --json has all counts",
                     "--breakdown --output breakdown.json");
  }
  return has;
}

// Throws for files and tables of one run.
void check_runs_twice(const Arguments& arguments) {
  const auto refuse = [&](const std::string& flag, const std::string& value,
                          const std::string& example) {
    if (!arguments.has(flag)) return;
    throw UsageError(
        "--" + flag, value,
        "needs a single run, and --events both makes two runs; allowed: --events done or late",
        "--events late " + example);
  };
  refuse("snapshot", arguments.get("snapshot"), "--snapshot run.pickle");
  refuse("breakdown", "", "--breakdown");
  refuse("try-advice", "", "--try-advice");
  refuse("max-peak", arguments.get("max-peak"), "--max-peak 12GiB");
}

std::vector<Flag> ranks_flags() {
  return {
      {"card", "NAME", "card name, as in headroom cards", "Card"},
      {"count", "N", "number of cards (default 1)", "Card"},
      {"gpus", "N", "same as --count", "Card"},
      {"world-size", "N",
       "run the program as one rank of a job of N, without a launcher; with --rank", "Ranks"},
      {.name = "rank",
       .value = "LIST",
       .help =
           "ranks to run, each alone: 0,63 or 0-7; the others echo their messages (default 0);\n"
           "--gpus is then the number of cards per node (default 8, or N)",
       .group = "Ranks",
       .example = "--world-size 64 --rank 0,63"},
      {.name = "ranks",
       .value = "WORD",
       .help = "distinct: run one rank of each kind, each alone; the report says which ranks each\n"
               "stands for",
       .group = "Ranks",
       .example = "--world-size 64 --ranks distinct"}};
}

// Flags that change the course of the program or its memory.
std::vector<Flag> steering_flags() {
  return {
      {"bytes", "SIZE", "card memory instead of the real size: 40GiB, or unlimited", "Card"},
      {"alloc-conf", "TEXT", "PYTORCH_CUDA_ALLOC_CONF for the program", "Card"},
      {"events", "WORD",
       "when work on the card ends: done, at once (the default); late, when the host waits\n"
       "for it; both, one run of each, for the least and most memory that timing can cause",
       "Card"},
      {"skip-host-init", "",
       "do not draw large weights that the program initializes on the host; this saves\n"
       "memory and time, and a virtual card has no use for their values (Python programs)",
       "Program"},
      {"value", "FILE:LINE=N",
       "value that this line of a Python program reads from the card, instead of zero; may be\n"
       "given several times; 0*99,1: 99 times 0, then 1; (0,1,2)*: 0, 1, 2 repeatedly",
       "Values"},
      {"value-file", "FILE", "file of such values, one FILE:LINE=N per line; # begins a comment",
       "Values", FileUse::kRead},
      route_flag()};
}

std::vector<Flag> outcome_flags() {
  return {
      {"breakdown", "",
       "show the use of memory at the peak: parameters, gradients, optimizer state, activations\n"
       "and so on, by module, line and operation",
       "Output"},
      {.name = "output",
       .value = "FILE",
       .help = "file for the breakdown, as JSON",
       .group = "Output",
       .file = FileUse::kWritten,
       .example = "--breakdown --output breakdown.json"},
      {.name = "max-peak",
       .value = "SIZE",
       .help =
           "exit 1 if the allocated memory of a device was larger at its peak, with the line of\n"
           "the program that held the most: a test of memory",
       .group = "Output",
       .example = "--max-peak 12GiB"},
      {"try-advice", "",
       "where memory runs out: run the program again with settings of the allocator, and with\n"
       "smaller values of --vary; print those with which it fits",
       "Advice"},
      {.name = "vary",
       .value = "NAME=FROM..TO",
       .help = "a number of the program, in place of {NAME}; it runs with TO first",
       .group = "Advice",
       .example = kAdviceCommand},
      {"snapshot", "FILE",
       "memory_viz snapshot at the end or where memory ran out;\n"
       "with several processes one file each, with .<pid> before the extension",
       "Output", FileUse::kWritten},
      {"json", "FILE", "file for all counts, as JSON", "Output", FileUse::kWritten}};
}

}  // namespace

Flag route_flag() {
  return {.name = "route",
          .value = "RULE",
          .help =
              "experts that the routers of a mixture of experts select for the tokens: balanced,\n"
              "the same number of tokens for each; worst, the first experts for all tokens; a\n"
              "number, drawn by this seed (Python programs)",
          .group = "Values",
          .example = "--route worst"};
}

std::string route_of(const Arguments& arguments) {
  const std::string text = arguments.get("route");
  const bool is_seed = text.find_first_not_of("0123456789") == std::string::npos;
  if (arguments.has("route") && text != "balanced" && text != "worst" &&
      (!is_seed || text.empty() || text.size() > 18)) {
    throw UsageError("--route", text, "is none of balanced, worst, or a number, the seed",
                     "--route worst");
  }
  return text;
}

CommandLine dryrun_command_line() {
  return {
      "dryrun --card NAME [flags] -- PROGRAM [ARGUMENTS]",
      "Runs a program that uses CUDA through PyTorch or libtorch on virtual cards: with its own\n"
      "code, allocator and kernel launches, but without values (all zeros) and times. Output and\n"
      "exit code are the program's (128 + N if signal N ended it); the memory that it used is\n"
      "printed on stderr when it ends.",
      joined(joined(ranks_flags(), steering_flags()), outcome_flags()), true};
}

DryRun dryrun_from(const Arguments& arguments, const std::vector<std::string>& values,
                   std::vector<std::string> words) {
  if (!arguments.positional.empty()) {
    throw UsageError("'--' is needed before the program, '" + arguments.positional.front() +
                     "'; example: headroom dryrun --card h200 -- python train.py");
  }
  if (words.empty()) {
    throw UsageError(
        "a program is needed after the flags and --; example: headroom dryrun --card h200 -- "
        "python train.py");
  }
  if (!arguments.has("card")) {
    throw UsageError("--card is needed; example: headroom dryrun --card h200 -- python train.py");
  }
  DryRun request;
  request.card = virtual_card({"--card", "--bytes", "--card h200 --bytes 80GiB"},
                              arguments.get("card"), arguments.get("bytes"));
  request.world_size = world_size_of(arguments);
  request.ranks = ranks_of(arguments, request.world_size);
  request.distinct = is_distinct(arguments);
  request.count = count_of(arguments, request.world_size);
  request.alloc_conf = arguments.get("alloc-conf");
  // libtorch would end the program with a backtrace.
  if (!request.alloc_conf.empty()) check_alloc_conf(request.alloc_conf, {});
  for (const std::string& value : values) request.values.push_back(parse_value(value));
  if (arguments.has("value-file")) {
    for (Value& value : read_values(arguments.get("value-file"))) {
      request.values.push_back(std::move(value));
    }
  }
  request.route = route_of(arguments);
  request.snapshot = snapshot_from(arguments);
  request.skip_host_init = arguments.has("skip-host-init");
  request.breakdown = has_breakdown(arguments) || arguments.has("max-peak");
  request.events = parse_events(arguments.get("events", "done"));
  if (request.events == Events::kBoth) check_runs_twice(arguments);
  request.words = std::move(words);
  return request;
}

}  // namespace headroom
