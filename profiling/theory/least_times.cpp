#include "profiling/theory/least_times.h"

#include <algorithm>

#include "cards/cards.h"
#include "model/parameter_table.h"
#include "profiling/flops.h"
#include "profiling/theory/host/host_parameters.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// Weights that come back after the host's update.
double updated_bytes(const RunSpec& spec) {
  if (!offloads_optimizer(spec)) return 0;
  const ModelConfig config = model_config(spec);
  const auto all = static_cast<double>(parameter_count(config));
  // The weights of offloaded blocks stay on the host.
  const double outside =
      parameter_sum(config, [](const ParameterEntry& entry) { return !entry.in_every_block(); });
  return (spec.param_offload.any() ? outside : all) * (spec.weights == WeightType::kBf16 ? 2 : 4);
}

Transfers link_transfers(const RunSpec& spec, const HostTraffic& traffic, const Card& card) {
  const auto rate = static_cast<double>(card.host_bandwidth);
  const double alone = updated_bytes(spec);
  const auto all = static_cast<double>(traffic.to_host + traffic.to_card);
  return {.beside_s = (all - alone) / rate, .alone_s = alone / rate};
}

// Blocks' weights are read while others compute; the update reads states and writes both.
Transfers disk_transfers(const RunSpec& spec, const DiskFigures& disk, const DiskRate& rate) {
  const auto weights = static_cast<double>(parameter_disk_figures(spec).read);
  const auto read = static_cast<double>(disk.read);
  return {.beside_s = rate.seconds(weights, 0),
          .alone_s = rate.seconds(read - weights, static_cast<double>(disk.written))};
}

}  // namespace

double LeastTimes::step_s(double of_the_peak) const {
  return std::max({link.beside_s, disk.beside_s, arithmetic_s / of_the_peak}) +
         std::max(link.alone_s, disk.alone_s);
}

std::optional<LeastTimes> least_times(const RunSpec& spec, const HostTraffic& traffic,
                                      const DiskFigures& disk, const DiskRate& rate) {
  if (!is_virtual(spec)) return std::nullopt;
  const Card& card = find_card(spec.device.card);
  const std::optional<double> peak = peak_flops(card.driver_name, compute_precision(spec));
  if (!peak || card.host_bandwidth == 0) return std::nullopt;
  const StepFlops flops =
      step_flops(model_config(spec), spec.batch_size, spec.context_length, spec.profile_type);
  return LeastTimes{.arithmetic_s = flops.total() / *peak,
                    .link = link_transfers(spec, traffic, card),
                    .disk = disk_transfers(spec, disk, rate)};
}

}  // namespace headroom
