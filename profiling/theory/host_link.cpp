#include "profiling/theory/host_link.h"

#include "cards/cards.h"
#include "profiling/flops.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "train/gradient_rules.h"

namespace headroom {
namespace {

std::string milliseconds(double seconds) { return number_text(1000 * seconds, 1) + " ms"; }

// Weights that come back when the host has updated them.
double updated_bytes(const RunSpec& spec) {
  if (!offloads_optimizer(spec)) return 0;
  const ModelConfig config = model_config(spec);
  const auto all = static_cast<double>(parameter_count(config));
  // Those of blocks that lie on the host stay there.
  const auto outside =
      static_cast<double>(config.d_model) * (2 * static_cast<double>(config.vocab_size) + 1);
  return (spec.param_offload.any() ? outside : all) * (spec.weights == WeightType::kBf16 ? 2 : 4);
}

}  // namespace

std::optional<HostLinkTimes> host_link_times(const RunSpec& spec, const HostTraffic& traffic) {
  if (!is_virtual(spec)) return std::nullopt;
  const Card& card = find_card(spec.device.card);
  const Precision products = spec.weights == WeightType::kBf16 ? Precision::kBf16 : spec.precision;
  const std::optional<double> peak = peak_flops(card.driver_name, products);
  if (!peak || card.host_bandwidth == 0) return std::nullopt;
  const StepFlops flops =
      step_flops(model_config(spec), spec.batch_size, spec.context_length, spec.profile_type);
  const auto bytes = static_cast<double>(traffic.to_host + traffic.to_card);
  const auto rate = static_cast<double>(card.host_bandwidth);
  return HostLinkTimes{.copies_s = bytes / rate,
                       .alone_s = updated_bytes(spec) / rate,
                       .arithmetic_s = flops.total() / *peak};
}

std::vector<std::string> host_link_notes(const RunSpec& spec, const HostTraffic& traffic) {
  std::vector<std::string> notes = {
      "Over the host link in a step: " + format_bytes(traffic.to_host) + " to the host, " +
      format_bytes(traffic.to_card) + " back."};
  const std::optional<HostLinkTimes> times = host_link_times(spec, traffic);
  if (!times) return notes;
  const Card& card = find_card(spec.device.card);
  notes.push_back("At the peak of " + card.host_link + ", " +
                  number_text(static_cast<double>(card.host_bandwidth) / 1e9, 1) +
                  " GB/s one way, that takes " + milliseconds(times->copies_s) +
                  "; the step's arithmetic at the card's peak takes " +
                  milliseconds(times->arithmetic_s) + ".");
  if (times->alone_s > 0) {
    notes.push_back("Of the copies " + milliseconds(times->alone_s) +
                    " bring weights back when backward has ended, beside no arithmetic.");
  }
  const double ratio = times->ratio();
  notes.push_back(ratio <= 1 ? "Copies can hide behind the arithmetic, even at its peak."
                             : "At the arithmetic's peak a step would be " + number_text(ratio, 1) +
                                   " times as long as without; at a fraction of its peak, by that "
                                   "fraction less.");
  return notes;
}

}  // namespace headroom
