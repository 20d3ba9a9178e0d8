#include "plan/ppo/drawing.h"

#include <algorithm>
#include <map>
#include <string>

#include "bench/process/virtual_card.h"

namespace headroom {
namespace {

// For component names like "actor parameters", "kv_cache".
ComponentKind kind_of(const std::string& component) {
  static const std::map<std::string, ComponentKind> kKinds = {
      {"parameters", ComponentKind::kWeights},       {"cast_cache", ComponentKind::kWeights},
      {"gradients", ComponentKind::kGradients},      {"optimizer_state", ComponentKind::kOptimizer},
      {"master_weights", ComponentKind::kOptimizer}, {"kv_cache", ComponentKind::kKvCache},
      {"other", ComponentKind::kExperience},         {"workspaces", ComponentKind::kContext}};
  const auto known = kKinds.find(component.substr(component.find(' ') + 1));
  return known == kKinds.end() ? ComponentKind::kActivations : known->second;
}

TimelineStretch stretch_of(const PhaseComponents& phase) {
  TimelineStretch stretch{.name = phase.phase};
  for (const auto& [component, bytes] : phase.instants) {
    stretch.instants.resize(std::max(stretch.instants.size(), bytes.size()));
    const auto kind = static_cast<size_t>(kind_of(component));
    for (size_t i = 0; i < bytes.size(); ++i) stretch.instants[i].at(kind) += bytes[i];
  }
  return stretch;
}

// 0, no limit line, if the card is nearly empty: then the scale shows only the used memory.
int64_t limit_to_draw(const RunSpec& spec, int64_t highest) {
  if (!is_virtual(spec)) return 0;
  const int64_t available = virtual_card(spec.device).card.total_bytes;
  return highest < available / 4 ? 0 : available;
}

}  // namespace

std::optional<Timeline> ppo_timeline(const Record& record,
                                     const std::optional<ComputedIteration>& computed) {
  if (!record.ppo || record.ppo->phases.empty()) return std::nullopt;
  Timeline drawn{.title = "Memory of an iteration, requested bytes; widths do not show times"};
  if (computed) drawn.level = "computed peak";
  for (const PhaseComponents& phase : record.ppo->phases) {
    TimelineStretch stretch = stretch_of(phase);
    if (stretch.instants.empty()) continue;
    const PhasePeak* const peak = computed ? computed->find(phase.phase) : nullptr;
    if (peak != nullptr) stretch.level = peak->requested;
    drawn.stretches.push_back(std::move(stretch));
  }
  if (drawn.stretches.empty()) return std::nullopt;
  drawn.available = limit_to_draw(record.spec, drawn.highest());
  return drawn;
}

}  // namespace headroom
