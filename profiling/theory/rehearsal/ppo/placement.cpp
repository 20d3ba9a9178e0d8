#include "profiling/theory/rehearsal/ppo/placement.h"

#include "train/ppo/phases/phase_names.h"

namespace headroom {

void RehearsedPlacement::add(Role role, RehearsedStep& step) {
  components_.push_back({.role = role, .part = RolePart::kWeights, .step = &step});
  if (is_trained(role)) {
    components_.push_back({.role = role, .part = RolePart::kOptimizer, .step = &step});
  }
  leave_but_for(kGenerationPhase);
}

void RehearsedPlacement::leave_but_for(const std::string& phase) {
  for (Component& component : components_) {
    if (is_needed(component.role, component.part, phase) || !component.away.empty()) continue;
    component.away = component.part == RolePart::kWeights ? component.step->weight_storages()
                                                          : component.step->state_storages();
    // Tensors that stay on the host or have no bytes are not moved; memory that two share is moved
    // once.
    std::erase_if(component.away, [](const auto& storage) {
      if (!storage->is_there()) return true;
      storage->leave();
      return false;
    });
  }
}

void RehearsedPlacement::before(const std::string& phase, const std::function<void()>& between) {
  leave_but_for(phase);
  between();
  for (Component& component : components_) {
    if (!is_needed(component.role, component.part, phase)) continue;
    for (const auto& storage : component.away) storage->come_back();
    component.away.clear();
  }
}

}  // namespace headroom
