#include "cli/commands/programs/serve_engines.h"

#include <algorithm>

#include "bench/dryrun/report/report.h"
#include "cli/log.h"

namespace headroom {
namespace {

ServingRun judged(const QuietRun& quiet, ServingEngine engine) {
  ServingRun run{.fits = quiet.run.fits,
                 .memory = engine_memory(quiet.output, engine),
                 .room = {},
                 .reason = quiet.run.reason};
  for (const auto& process : quiet.document["processes"]) {
    for (const auto& device : process["devices"]) {
      const DevicePeaks peaks = peaks_of(quiet.document, device);
      if (peaks.room) run.room = std::min(*peaks.room, run.room.value_or(*peaks.room));
    }
  }
  if (run.fits == Fits::kYes && run.memory) return run;
  const std::string refusal = engine_refusal(quiet.output);
  if (!refusal.empty()) run.reason = refusal;
  if (run.reason.empty()) run.reason = "it ended before its cache was made";
  run.fits = is_about_memory(run.reason) ? Fits::kNo : Fits::kUnknown;
  return run;
}

}  // namespace

std::string cards_of(const Serving& serving, const VirtualCard& card) {
  return cards_text(serving.cards(), card);
}

ServingRun Engines::run(const Serving& serving, const VirtualCard& card) {
  stopped_ = stopped_ || signals_.comes_within(0);
  if (stopped_) return {};
  DryRun request;
  request.card = card;
  request.count = static_cast<int>(serving.cards());
  request.skip_host_init = true;
  request.words = serving_words(serving, question_.python);
  log_status("starting " + engine_name(serving.engine) + " with " + question_.model.shape.name +
             " on " + cards_of(serving, card));
  const QuietRun quiet = run_quietly(request, signals_);
  log_status("");
  stopped_ = quiet.outcome.asked_by != 0;
  return judged(quiet, serving.engine);
}

Fits Engines::tried(const Serving& serving, const VirtualCard& card, const std::string& name) {
  const ServingRun one = run(serving, card);
  if (stopped_) return Fits::kUnknown;
  log_line(name + ": " + (one.fits == Fits::kYes ? "starts" : one.reason));
  return one.fits;
}

}  // namespace headroom
