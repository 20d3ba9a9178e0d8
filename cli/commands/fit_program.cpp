#include "cli/commands/fit_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/program.h"
#include "bench/dryrun/report/report.h"
#include "bench/launch/preparation/alloc_confs.h"
#include "bench/launch/progress.h"
#include "cli/exit_code.h"
#include "cli/log.h"
#include "cli/output.h"
#include "plan/fit/vary.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// Redirects a program's output to a file during its lifetime: stdout is for our table.
class CaughtOutput {
 public:
  CaughtOutput() : file_(std::tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file for the program's output");
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int descriptor : {0, 1, 2}) {
      saved_[descriptor] = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
      dup2(descriptor == 0 ? nothing : fileno(file_), descriptor);
    }
    if (nothing >= 0) close(nothing);
  }
  ~CaughtOutput() {
    give_back();
    std::fclose(file_);
  }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  void give_back() {
    for (const int descriptor : {0, 1, 2}) {
      if (saved_[descriptor] < 0) continue;
      dup2(saved_[descriptor], descriptor);
      close(saved_[descriptor]);
      saved_[descriptor] = -1;
    }
  }

  // The last non-blank line, within the last 4 KiB.
  std::string last_line() const {
    constexpr long kMost = 4096;
    std::fseek(file_, 0, SEEK_END);
    const long size = std::ftell(file_);
    std::fseek(file_, std::max(0L, size - kMost), SEEK_SET);
    std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    const size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos) return "";
    const size_t begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
  }

 private:
  std::FILE* file_;
  int saved_[3] = {-1, -1, -1};
};

// The highest peak over all cards and processes.
std::optional<int64_t> peak_of(const nlohmann::ordered_json& document) {
  std::optional<int64_t> peak;
  for (const auto& process : document["processes"]) {
    for (const auto& device : process["devices"]) {
      const auto& allocator = device["allocator"];
      const int64_t bytes = allocator.is_object() ? allocator["peak_reserved_bytes"].get<int64_t>()
                                                  : device.value("peak_bytes", int64_t{0});
      peak = std::max(peak.value_or(0), bytes);
    }
  }
  return peak;
}

// The first refused allocation, if any.
std::optional<std::string> refusal_of(const nlohmann::ordered_json& document) {
  for (const auto& process : document["processes"]) {
    for (const auto& device : process["devices"]) {
      for (const auto& refused : device["out_of_memory"]) {
        std::string words =
            "out of memory, " + format_bytes(refused.value("wanted_bytes", int64_t{0})) + " wanted";
        const std::string where = refused.value("where", "");
        return where.empty() ? words : words + " at " + where;
      }
    }
  }
  return std::nullopt;
}

// Runs the program and reports the search's progress.
class Programs {
 public:
  // `signals`: held from the first run to the last, so that ^C between runs is not lost.
  Programs(DryRun request, Vary vary, size_t expected, const HeldSignals& signals)
      : request_(std::move(request)),
        vary_(std::move(vary)),
        expected_(expected),
        signals_(signals) {}

  ProgramRun run(int64_t value, const std::string& alloc_conf) {
    DryRun request = request_;
    request.words = with_value(request_.words, vary_, value);
    request.alloc_conf = alloc_conf;
    const std::string name =
        vary_.name + " " + std::to_string(value) + (alloc_conf.empty() ? "" : ", " + alloc_conf);
    log_status("run " + std::to_string(done_ + 1) + ": " + name + eta());
    ProgramRun run = judged(request);
    ++done_;
    if (stopped_) return run;
    const std::string peak = run.peak ? ", " + format_bytes(*run.peak) + " reserved" : "";
    const std::string ended = run.fits == Fits::kYes ? "runs" + peak : run.reason;
    log_line("[" + std::to_string(done_) + "] " + name + ": " + ended + eta());
    return run;
  }

  bool stopped() {
    stopped_ = stopped_ || signals_.comes_within(0);
    return stopped_;
  }

 private:
  ProgramRun judged(const DryRun& request) {
    CaughtOutput output;
    const DryRunOutcome outcome = run_dry(request, signals_);
    output.give_back();
    seconds_ += outcome.seconds;
    const nlohmann::ordered_json document = dryrun_document(request, outcome);
    ProgramRun run{.peak = peak_of(document)};
    stopped_ = outcome.asked_by != 0;  // after ^C the program's ending is irrelevant
    if (stopped_) return run;
    if (outcome.exit_code == 0) {
      run.fits = Fits::kYes;
      return run;
    }
    if (const auto refusal = refusal_of(document)) {
      run.fits = Fits::kNo;
      run.reason = *refusal;
      return run;
    }
    run.reason = outcome.signal != 0 ? "ended by signal " + std::to_string(outcome.signal)
                                     : "exit code " + std::to_string(outcome.exit_code);
    if (const std::string line = output.last_line(); !line.empty()) run.reason += ": " + line;
    return run;
  }

  // For a bisection, with an upper bound on the number of runs.
  std::string eta() const {
    if (done_ == 0 || done_ >= expected_) return "";
    const double each = seconds_ / static_cast<double>(done_);
    return ", ETA " + eta_text(each * static_cast<double>(expected_ - done_));
  }

  DryRun request_;
  Vary vary_;
  size_t expected_;
  const HeldSignals& signals_;
  size_t done_ = 0;
  double seconds_ = 0;
  bool stopped_ = false;
};

DryRun request_of(const Arguments& arguments, const std::vector<std::string>& words) {
  static const std::vector<std::string> kTaken = {"vary",   "card",       "bytes",
                                                  "format", "alloc-conf", "skip-host-init"};
  for (const auto& [name, value] : arguments.values) {
    if (is_one_of(name, kTaken)) continue;
    throw UsageError("--" + name, value,
                     "applies to headroom's own runs only, and --vary runs your program; allowed "
                     "with --vary: --card, --bytes, --alloc-conf, --skip-host-init, --format",
                     kVaryCommand);
  }
  if (words.empty()) {
    throw UsageError(std::string("--vary: a program is needed after the flags and --; example: ") +
                     kVaryCommand);
  }
  if (!arguments.has("card")) {
    throw UsageError(std::string("--card is needed; example: ") + kVaryCommand);
  }
  DryRun request;
  request.card = virtual_card({"--card", "--bytes", "--card rtx4090 --bytes 20GiB"},
                              arguments.get("card"), arguments.get("bytes"));
  request.skip_host_init = arguments.has("skip-host-init");
  request.words = words;
  return request;
}

}  // namespace

int fit_program(const Arguments& arguments, const std::vector<std::string>& words) {
  const DryRun request = request_of(arguments, words);
  const Vary vary = parse_vary(arguments.get("vary"), words);
  check_can_preload(find_program(with_value(words, vary, vary.range.least).front()));
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  std::vector<std::string> confs = {arguments.get("alloc-conf")};
  if (!arguments.has("alloc-conf")) {
    confs.insert(confs.end(), tried_alloc_confs().begin(), tried_alloc_confs().end());
  }
  const double range = static_cast<double>(vary.range.most - vary.range.least + 1);
  const auto halvings = static_cast<size_t>(std::ceil(std::log2(range)));
  const HeldSignals signals;
  Programs programs(request, vary, 2 * halvings + confs.size(), signals);
  const VaryResult result = search_vary(
      vary, confs,
      [&](int64_t value, const std::string& conf) { return programs.run(value, conf); },
      [&] { return programs.stopped(); });
  log_status("");
  print_tables({vary_table(vary, result, request.card.card.name)}, format);
  for (const std::string& failure : result.failures)
    log_error("failed for another reason than memory: " + failure);
  if (result.stopped) {
    log_error("interrupted");
    return kExitInterrupted;
  }
  const bool found = std::any_of(result.answers.begin(), result.answers.end(),
                                 [](const VaryAnswer& answer) { return answer.largest > 0; });
  if (!found && result.failures.empty()) {
    log_error("nothing fits: " + vary.name + " " + std::to_string(vary.range.least) + ": " +
              result.answers.front().beyond->reason);
  }
  if (!found) return kExitAllFailed;
  return result.failures.empty() ? kExitOk : kExitSomeFailed;
}

}  // namespace headroom
