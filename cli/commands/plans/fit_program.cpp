#include "cli/commands/plans/fit_program.h"

#include <algorithm>
#include <cmath>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/program.h"
#include "bench/launch/preparation/alloc_confs.h"
#include "bench/launch/progress.h"
#include "cli/commands/runs/quiet_run.h"
#include "cli/exit_code.h"
#include "cli/log.h"
#include "cli/output.h"
#include "plan/fit/vary.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

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
    QuietRun quiet = run_quietly(request, signals_);
    seconds_ += quiet.outcome.seconds;
    stopped_ = quiet.outcome.asked_by != 0;  // after ^C the program's ending is irrelevant
    return std::move(quiet.run);
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
  if (result.stopped) return log_interrupted();
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
