// headroom dryrun: runs a user's program on virtual cards.
#include "bench/dryrun/dryrun.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "bench/dryrun/process_snapshot.h"
#include "bench/dryrun/report/breakdown.h"
#include "bench/dryrun/report/events.h"
#include "bench/dryrun/report/report.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/programs/advice.h"
#include "cli/commands/runs/quiet_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/flags/repeated_flag.h"
#include "cli/flags/runs/dryrun_flags.h"
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

constexpr int kSignalExit = 128;  // as in a shell

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

// A program's words may be files, such as its own code.
void check_words(const std::vector<std::string>& words, const std::vector<NamedFile>& written) {
  std::vector<NamedFile> read;
  for (const std::string& word : words) {
    std::error_code error;
    if (std::filesystem::is_regular_file(word, error)) read.push_back({"", word});
  }
  check_apart(read, written);
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
    return unwritten.empty()
               ? "no snapshot was written: no process of PyTorch that used CUDA ended\n"
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

// The device that allocated the most at its peak.
const nlohmann::ordered_json* fullest_device(const nlohmann::ordered_json& breakdown) {
  const nlohmann::ordered_json* fullest = nullptr;
  for (const auto& process : breakdown["processes"]) {
    for (const auto& device : process["devices"]) {
      if (fullest == nullptr || device["allocated_bytes"] > (*fullest)["allocated_bytes"])
        fullest = &device;
    }
  }
  return fullest;
}

// The exit code if memory was not within --max-peak, with a line that says why.
std::optional<int> code_of_peak(const nlohmann::ordered_json& breakdown, int64_t most) {
  const nlohmann::ordered_json* const device = fullest_device(breakdown);
  if (device == nullptr) {
    log_error("--max-peak: no process of the program reported a peak");
    return kExitEnvironment;
  }
  const int64_t peak = (*device)["allocated_bytes"];
  if (peak <= most) return std::nullopt;
  std::string text = "--max-peak: " + format_bytes(peak) + " were allocated at the peak, " +
                     format_bytes(peak - most) + " more than " + format_bytes(most);
  const auto& lines = (*device)["lines"];
  if (!lines.empty()) {
    text += "; the most at " + lines[0]["line"].get<std::string>() + ": " +
            format_bytes(lines[0]["bytes"].get<int64_t>());
  }
  log_error(text);
  return kExitOverBudget;
}

// The largest value of --vary, with which the program runs first.
std::optional<Vary> take_vary(const Arguments& arguments, std::vector<std::string>& words) {
  if (!arguments.has("vary")) return std::nullopt;
  if (!arguments.has("try-advice")) {
    throw UsageError("--vary", arguments.get("vary"),
                     "is for smaller values where memory runs out; allowed: with --try-advice "
                     "(headroom fit --vary searches for the largest value that fits)",
                     kAdviceCommand);
  }
  Vary vary = parse_vary(arguments.get("vary"), words, kAdviceCommand);
  words = with_value(words, vary, vary.range.most);
  return vary;
}

// Runs the program, for Events::kBoth twice. The document has both runs.
DryRunOutcome run_with_events(const DryRun& request, const HeldSignals& signals,
                              nlohmann::ordered_json& document) {
  DryRunOutcome outcome = run_dry(request, signals);
  document = dryrun_document(request, outcome);
  if (request.events != Events::kBoth || outcome.asked_by != 0) return outcome;
  const DryRun late = late_request(request, outcome);
  const DryRunOutcome second = run_dry(late, signals);
  add_late_run(document, dryrun_document(late, second));
  if (outcome.signal == 0 && outcome.exit_code == 0) {
    outcome.signal = second.signal;
    outcome.exit_code = second.exit_code;
  }
  return outcome;
}

// words: the program and its arguments.
int run_program(const Arguments& arguments, const std::vector<std::string>& values,
                std::vector<std::string> words) {
  std::optional<int64_t> most;
  if (arguments.has("max-peak")) most = parse_bytes("--max-peak", arguments.get("max-peak"));
  const std::vector<std::string> typed = words;
  const std::optional<Vary> vary = take_vary(arguments, words);
  const DryRun request = dryrun_from(arguments, values, std::move(words));
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
  nlohmann::ordered_json document;
  const DryRunOutcome outcome = run_with_events(request, *signals, document);
  const std::string unwritten = unwritten_lines(document);
  const std::string snapshots = settle_snapshots(request.snapshot, unwritten, document) + unwritten;
  const size_t width = terminal_width(STDERR_FILENO);
  std::fputs((dryrun_text(document, width) + fitted(snapshots, width)).c_str(), stderr);
  nlohmann::ordered_json breakdown;
  if (request.breakdown) breakdown = breakdown_document(document, outcome);
  if (arguments.has("breakdown")) std::fputs(breakdown_text(breakdown, width).c_str(), stderr);
  if (arguments.has("try-advice") && judged_run(outcome, document, "").fits == Fits::kNo) {
    document["advice"] = try_advice(request, vary, typed, *signals);
    std::fputs(fitted(advice_text(document["advice"]), width).c_str(), stderr);
  }
  if (json.is_stream() || breakdown_file.is_stream()) signals.reset();
  if (!json_file.empty()) write_json(json.path(), document);
  if (!breakdown_file.path().empty()) write_json(breakdown_file.path(), breakdown);
  if (outcome.signal != 0) return kSignalExit + outcome.signal;
  if (outcome.exit_code == 0 && most) {
    if (const auto code = code_of_peak(breakdown, *most)) return *code;
  }
  return outcome.exit_code == 0 && !unwritten.empty() ? kExitEnvironment : outcome.exit_code;
}

}  // namespace

int run_dryrun_command(int argc, char** argv) {
  auto [flags, words] = split_at_dashes(argc, argv);
  const std::vector<std::string> values = take_repeated("--value", flags);
  const auto body = [&, words = words](const Arguments& arguments) {
    return run_program(arguments, values, words);
  };
  return parse_and_run(dryrun_command_line(), static_cast<int>(flags.size()), flags.data(), body);
}

}  // namespace headroom
