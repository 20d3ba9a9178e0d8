#include "cli/commands/runs/tried_runs.h"

#include <utility>

#include "bench/launch/progress.h"
#include "cli/commands/runs/quiet_run.h"
#include "cli/log.h"
#include "text/quantity.h"

namespace headroom {

bool TriedRuns::stopped() {
  stopped_ = stopped_ || signals_.comes_within(0);
  return stopped_;
}

ProgramRun TriedRuns::run(const DryRun& request, const std::string& name) {
  if (stopped()) return {};
  log_status("run " + std::to_string(done_ + 1) + ": " + name + eta());
  QuietRun quiet = run_quietly(request, signals_);
  seconds_ += quiet.outcome.seconds;
  stopped_ = quiet.outcome.asked_by != 0;  // after ^C the program's ending is irrelevant
  ++done_;
  if (stopped_) return {};
  const ProgramRun& run = quiet.run;
  const std::string peak = run.peak ? ", " + format_bytes(*run.peak) + " reserved" : "";
  log_line("[" + std::to_string(done_) + "] " + name + ": " +
           (run.fits == Fits::kYes ? "fits" + peak : run.reason) + eta());
  return std::move(quiet.run);
}

std::string TriedRuns::eta() const {
  if (done_ == 0 || done_ >= expected_) return "";
  const double each = seconds_ / static_cast<double>(done_);
  return ", ETA " + eta_text(each * static_cast<double>(expected_ - done_));
}

}  // namespace headroom
