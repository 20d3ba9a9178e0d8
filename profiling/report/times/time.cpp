#include "profiling/report/times/time.h"

#include "profiling/flops.h"
#include "profiling/report/rows/cells.h"

namespace headroom {
namespace {

std::string share_text(double share) { return number_text(100 * share, 1) + " %"; }

std::string spread_warning(const StepTimes& times) {
  return "Do not compare these times: from p10 to p90 they spread over " +
         share_text(times.spread()) + " of the median, the threshold is " +
         share_text(kWidestSpread) +
         ". Something else uses the machine, its clock moves, or more --warmup-steps are needed.";
}

std::string mfu_note(const Record& record, const StepRates& rates) {
  if (!rates.mfu) {
    const std::string name = hardware_name(record);
    return "No MFU: headroom cards has no dense peak at " +
           to_string(compute_precision(record.spec)) + " of " +
           (name.empty() ? device_name(record) : name) + ".";
  }
  const double peak = rates.flops_per_second / *rates.mfu;
  return "MFU: of the card's dense peak at " + to_string(compute_precision(record.spec)) + ", " +
         number_text(peak / 1e12, 1) + " TFLOP/s (headroom cards).";
}

}  // namespace

StepRates step_rates(const Record& record, double step_ms) {
  const RunSpec& spec = record.spec;
  const double steps_per_second = 1000 / step_ms;
  const StepFlops flops =
      step_flops(model_config(spec), spec.batch_size, spec.context_length, spec.profile_type);
  StepRates rates{.tokens_per_second = static_cast<double>(spec.batch_size) *
                                       static_cast<double>(spec.context_length) * steps_per_second,
                  .flops_per_second = flops.total() * steps_per_second};
  if (const auto peak = peak_flops(hardware_name(record), compute_precision(spec))) {
    rates.mfu = rates.flops_per_second / *peak;
  }
  return rates;
}

Table time_table(const Record& record, const StepTimes& times) {
  Table table{.title = "Time per step, " + std::to_string(times.steps) + " measured steps",
              .columns = {{"statistic"}, {"value", true}, {"unit"}}};
  const auto add = [&](const char* name, double value, int decimals, const char* unit) {
    table.rows.push_back({name, number_text(value, decimals), unit});
  };
  add("median (p50)", times.median_ms, 3, "ms");
  add("p90", times.p90_ms, 3, "ms");
  add("p95", times.p95_ms, 3, "ms");
  add("min", times.min_ms, 3, "ms");
  add("max", times.max_ms, 3, "ms");
  add("mean", times.mean_ms, 3, "ms");
  add("standard deviation", times.deviation_ms, 3, "ms");
  if (spreads_too_widely(times)) table.notes.push_back(spread_warning(times));
  // generation.h has the tokens/s of a generation, by phase.
  if (times.median_ms <= 0 || record.generation) return table;
  const StepRates rates = step_rates(record, times.median_ms);
  add("throughput", rates.tokens_per_second, 1, "tokens/s");
  add("arithmetic", rates.flops_per_second / 1e12, 3, "TFLOP/s");
  if (rates.mfu) add("MFU", 100 * *rates.mfu, 2, "%");
  table.notes.push_back("Throughput is batch x context / median step; arithmetic counts " +
                        std::string(kFlopsFormula) + " " + kFlopsSource + ".");
  table.notes.push_back(mfu_note(record, rates));
  return table;
}

}  // namespace headroom
