// headroom dryrun: runs a user's program on virtual cards.
#include "bench/dryrun/dryrun.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "bench/dryrun/report/breakdown.h"
#include "bench/dryrun/report/events.h"
#include "bench/dryrun/report/report.h"
#include "bench/launch/cell.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/flags/runs/rank_flag.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "files/links.h"
#include "files/same_file.h"
#include "text/quantity.h"
#include "text/wrap.h"

namespace headroom {
namespace {

constexpr int64_t kMostDevices = 64;
constexpr int64_t kCardsOfNode = 8;
constexpr int64_t kMostRanks = 1 << 20;
constexpr int kSignalExit = 128;  // as in a shell

CommandLine dryrun_command_line() {
  return {
      "dryrun --card NAME [flags] -- PROGRAM [ARGUMENTS]",
      "Runs a program that uses CUDA through PyTorch or libtorch on virtual cards: with its own\n"
      "code, allocator and kernel launches, but without values (all zeros) and times. Output and\n"
      "exit code are the program's (128 + N if signal N ended it); the memory that it used is\n"
      "printed on stderr when it ends.",
      {{"card", "NAME", "card name, as in headroom cards", "Card"},
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
        .help =
            "distinct: run one rank of each kind, each alone; the report says which ranks each\n"
            "stands for",
        .group = "Ranks",
        .example = "--world-size 64 --ranks distinct"},
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
       {"breakdown", "",
        "show the use of memory at the peak: parameters, gradients, optimizer state, activations\n"
        "and so on, by module, line and operation (Python programs)",
        "Output"},
       {.name = "output",
        .value = "FILE",
        .help = "file for the breakdown, as JSON",
        .group = "Output",
        .file = FileUse::kWritten,
        .example = "--breakdown --output breakdown.json"},
       {"snapshot", "FILE",
        "memory_viz snapshot at the end or where memory ran out (Python programs);\n"
        "with several processes one file each, with .<pid> before the extension",
        "Output", FileUse::kWritten},
       {"json", "FILE", "file for all counts, as JSON", "Output", FileUse::kWritten}},
      true};
}

// The file of the report. A named pipe is opened before the program runs, as a shell would: the
// open waits for a reader while ^C still ends us, not at the end while signals are held.
class ReportFile {
 public:
  explicit ReportFile(std::string path) : path_(std::move(path)) {
    std::error_code error;
    const auto there = std::filesystem::status(path_, error);
    is_stream_ = named_descriptor(path_) || (exists(there) && !is_regular_file(there));
    if (!is_fifo(there) || named_descriptor(path_)) return;
    pipe_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (pipe_ >= 0) path_ = "/dev/fd/" + std::to_string(pipe_);
  }
  ~ReportFile() {
    if (pipe_ >= 0) close(pipe_);
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  const std::string& path() const { return path_; }
  // True if a write may wait for a reader indefinitely.
  bool is_stream() const { return is_stream_; }

 private:
  std::string path_;
  bool is_stream_ = false;
  int pipe_ = -1;
};

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

// A program's words may be files, such as its own code.
void check_words(const std::vector<std::string>& words, const std::vector<NamedFile>& written) {
  std::vector<NamedFile> read;
  for (const std::string& word : words) {
    std::error_code error;
    if (std::filesystem::is_regular_file(word, error)) read.push_back({"", word});
  }
  check_apart(read, written);
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
}

DryRun request_of(const Arguments& arguments, const std::vector<std::string>& values,
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
  request.snapshot = snapshot_from(arguments);
  request.skip_host_init = arguments.has("skip-host-init");
  request.breakdown = has_breakdown(arguments);
  request.events = parse_events(arguments.get("events", "done"));
  if (request.events == Events::kBoth) check_runs_twice(arguments);
  request.words = std::move(words);
  return request;
}

// Lines that name the reports and snapshots that could not be written.
std::string unwritten_lines(const nlohmann::ordered_json& document) {
  std::string lines;
  const std::string lost = document["lost_reports"];
  if (!lost.empty()) {
    lines += "the memory of the program's processes is not known in full: " + lost +
             "; run it again with TMPDIR=DIR on a disk with free space\n";
  }
  for (const auto& process : document["processes"]) {
    const std::string error = process["snapshot_error"];
    if (!error.empty())
      lines += "no snapshot of process " + process["pid"].dump() + ": " + error + "\n";
  }
  return lines;
}

// A single process's file gets the requested name. Returns lines with the snapshots' paths.
std::string settle_snapshots(const std::string& file, const std::string& unwritten,
                             nlohmann::ordered_json& document) {
  if (file.empty()) return "";
  std::vector<nlohmann::ordered_json*> written;
  for (auto& process : document["processes"]) {
    if (!process["snapshot"].get<std::string>().empty()) written.push_back(&process);
  }
  if (written.empty()) {
    return unwritten.empty() ? "no snapshot was written: no Python process that used CUDA ended\n"
                             : "";
  }
  std::string lines;
  for (auto* process : written) {
    // The reported name has lost bytes that are not UTF-8.
    std::string path = snapshot_of_process(std::filesystem::absolute(file).string(),
                                           (*process)["pid"].get<int64_t>());
    if (written.size() == 1) {
      std::error_code error;  // on failure it keeps its name
      std::filesystem::rename(path, file, error);
      if (!error) path = file;
    }
    (*process)["snapshot"] = path;
    const std::string until = (*process)["snapshot_until"];
    lines.append("snapshot: ").append(path);
    if (!until.empty()) lines += ", until the program switched its recording off at " + until;
    lines += "\n";
  }
  return lines;
}

void write_json(const std::string& path, const nlohmann::ordered_json& document) {
  using nlohmann::ordered_json;
  write_file_atomically(
      path, document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

// words: the program and its arguments.
int run_program(const Arguments& arguments, const std::vector<std::string>& values,
                std::vector<std::string> words) {
  const DryRun request = request_of(arguments, values, std::move(words));
  const std::string json_file = arguments.get("json");
  std::vector<NamedFile> written;
  for (const NamedFile& file :
       {NamedFile{"--json", json_file}, NamedFile{"--snapshot", request.snapshot},
        NamedFile{"--output", arguments.get("output")}}) {
    if (!file.path.empty()) written.push_back(file);
  }
  check_words(request.words, written);
  for (const NamedFile& file : written) check_writable(file.path);
  const ReportFile json(json_file);
  const ReportFile breakdown_file(arguments.get("output"));
  std::optional<HeldSignals> signals(std::in_place);  // until the report is out
  DryRunOutcome outcome = run_dry(request, *signals);
  nlohmann::ordered_json document = dryrun_document(request, outcome);
  if (request.events == Events::kBoth && outcome.asked_by == 0) {
    const DryRun late = late_request(request, outcome);
    const DryRunOutcome second = run_dry(late, *signals);
    add_late_run(document, dryrun_document(late, second));
    if (outcome.signal == 0 && outcome.exit_code == 0) {
      outcome.signal = second.signal;
      outcome.exit_code = second.exit_code;
    }
  }
  const std::string unwritten = unwritten_lines(document);
  const std::string snapshots = settle_snapshots(request.snapshot, unwritten, document) + unwritten;
  const size_t width = terminal_width(STDERR_FILENO);
  std::fputs((dryrun_text(document, width) + fitted(snapshots, width)).c_str(), stderr);
  if (json.is_stream() || breakdown_file.is_stream()) signals.reset();
  if (!json_file.empty()) write_json(json.path(), document);
  if (request.breakdown) {
    const nlohmann::ordered_json breakdown = breakdown_document(document, outcome);
    std::fputs(breakdown_text(breakdown, width).c_str(), stderr);
    if (!breakdown_file.path().empty()) write_json(breakdown_file.path(), breakdown);
  }
  if (outcome.signal != 0) return kSignalExit + outcome.signal;
  return outcome.exit_code == 0 && !unwritten.empty() ? kExitEnvironment : outcome.exit_code;
}

// Removes every --value with its text from `words`, because other flags may not be given twice. One
// without a text stays, and is refused later.
std::vector<std::string> take_values(std::vector<char*>& words) {
  constexpr std::string_view kFlag = "--value";
  std::vector<std::string> values;
  std::vector<char*> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == kFlag && i + 1 < words.size()) {
      values.emplace_back(words[++i]);
    } else if (word.starts_with(kFlag) && word.substr(kFlag.size()).starts_with("=")) {
      values.emplace_back(word.substr(kFlag.size() + 1));
    } else {
      rest.push_back(words[i]);
    }
  }
  words = std::move(rest);
  return values;
}

}  // namespace

int run_dryrun_command(int argc, char** argv) {
  auto [flags, words] = split_at_dashes(argc, argv);
  const std::vector<std::string> values = take_values(flags);
  const auto body = [&, words = words](const Arguments& arguments) {
    return run_program(arguments, values, words);
  };
  return parse_and_run(dryrun_command_line(), static_cast<int>(flags.size()), flags.data(), body);
}

}  // namespace headroom
