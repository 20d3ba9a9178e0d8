#include "train/ppo/phases/placement.h"

#include "train/offload/states/offloaded_optimizer.h"
#include "train/ppo/phases/phase_names.h"

namespace headroom {

using torch::Tensor;

Placement::Placement(torch::Device device)
    : copies_(make_copy_queue(device)),
      arena_(HostArena::make(/*pinned=*/device.is_cuda(), /*limit_bytes=*/0)) {}

void Placement::add(Role role, RolePart part, Step& step) {
  const auto numbers =
      is_trained(role) ? TensorsAway::Numbers::kChange : TensorsAway::Numbers::kConstant;
  components_.push_back({role, part, &step, TensorsAway(numbers, copies_, arena_)});
}

void Placement::add(Role role, Step& step) {
  add(role, RolePart::kWeights, step);
  if (is_trained(role)) add(role, RolePart::kOptimizer, step);
  leave_but_for(kGenerationPhase);
}

std::vector<Tensor> Placement::tensors_of(const Component& component) {
  Step& step = *component.step;
  std::vector<Tensor> all;
  const auto add_all = [&](const std::vector<Tensor>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (component.part == RolePart::kWeights) {
    for (const Tensor& parameter : step.model()->parameters()) {
      const auto& offloaded = step.layout.offloaded;
      if (!offloaded || !offloaded->is_offloaded(parameter)) all.push_back(parameter);
    }
  } else if (step.update->host_states() == nullptr) {
    add_all(step.update->master_weights());
    add_all(step.update->state());
  }
  return all;
}

void Placement::leave_but_for(const std::string& phase) {
  for (Component& component : components_) {
    if (is_needed(component.role, component.part, phase)) continue;
    component.tensors.leave(tensors_of(component));
  }
}

void Placement::before(const std::string& phase, MemoryTags* tags,
                       const std::function<void()>& between) {
  leave_but_for(phase);
  if (between) between();
  for (Component& component : components_) {
    if (!component.tensors.are_away()) continue;
    if (!is_needed(component.role, component.part, phase)) continue;
    component.tensors.come_back();
    component.step->listen(component.step->scopes(), component.step->tags());
  }
  tag(tags, Category::kOther, arena_->slabs(), {"models off the card"});
}

}  // namespace headroom
