#include "cli/commands/programs/advice.h"

#include "bench/launch/preparation/alloc_confs.h"
#include "cli/commands/runs/tried_runs.h"
#include "cli/log.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr double kMostSeconds = 600;

class Advice {
 public:
  Advice(const DryRun& refused, const HeldSignals& signals) : request_(refused), runs_(signals) {
    request_.snapshot.clear();
    request_.breakdown = false;
  }

  void try_allocator() {
    const std::string before = request_.alloc_conf;
    for (const std::string& conf : tried_alloc_confs()) {
      if (conf == before || is_over()) continue;
      request_.alloc_conf = conf;
      const std::string change = "--alloc-conf " + conf;
      const ProgramRun run = runs_.run(request_, change);
      if (run.fits == Fits::kYes) add(change, run, "");
    }
    request_.alloc_conf = before;
  }

  void try_smaller(Vary vary, const std::vector<std::string>& words) {
    if (vary.range.least == vary.range.most) return;
    vary.range.most -= 1;
    const VaryResult result = search_vary(
        vary, {request_.alloc_conf},
        [&](int64_t value, const std::string&) {
          request_.words = with_value(words, vary, value);
          return runs_.run(request_, vary.name + " " + std::to_string(value));
        },
        [this] { return is_over(); });
    for (const VaryAnswer& answer : result.answers) {
      if (answer.largest == 0) continue;
      const std::string beyond =
          answer.beyond ? std::to_string(answer.largest + 1) + ": " + answer.beyond->reason : "";
      add(vary.name + " " + std::to_string(answer.largest), answer.at, beyond);
    }
  }

  ordered_json document() {
    return {{"runs", runs_.done()}, {"was_stopped", is_over()}, {"fits", std::move(fits_)}};
  }

 private:
  bool is_over() { return runs_.stopped() || runs_.seconds() > kMostSeconds; }

  void add(const std::string& change, const ProgramRun& run, const std::string& beyond) {
    fits_.push_back(
        {{"change", change}, {"peak_reserved_bytes", run.peak.value_or(0)}, {"beyond", beyond}});
  }

  DryRun request_;
  TriedRuns runs_;
  ordered_json fits_ = ordered_json::array();
};

}  // namespace

ordered_json try_advice(const DryRun& refused, const std::optional<Vary>& vary,
                        const std::vector<std::string>& words, const HeldSignals& signals) {
  Advice advice(refused, signals);
  advice.try_allocator();
  if (vary) advice.try_smaller(*vary, words);
  log_status("");
  return advice.document();
}

std::string advice_text(const ordered_json& advice) {
  std::string text;
  for (const ordered_json& one : advice["fits"]) {
    const std::string beyond = one["beyond"];
    text += "fits with " + one["change"].get<std::string>() + ": " +
            format_bytes(one["peak_reserved_bytes"].get<int64_t>()) + " reserved" +
            (beyond.empty() ? "" : "; does not fit with " + beyond) + "\n";
  }
  const int64_t runs = advice["runs"];
  if (text.empty()) text = "none of the " + grouped(runs) + " runs that were tried fits\n";
  if (advice["was_stopped"].get<bool>()) text += "the search was stopped before its end\n";
  return text;
}

}  // namespace headroom
