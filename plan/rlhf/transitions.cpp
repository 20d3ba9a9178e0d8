#include "plan/rlhf/transitions.h"

#include "text/words.h"

namespace headroom {
namespace {

double seconds_over(const Card& card, int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(card.host_bandwidth);
}

std::string sentence(const char* verb, const std::vector<std::string>& names) {
  return names.empty() ? "" : std::string(verb) + " " + join(names);
}

Transition transition_between(const RlhfSpec& spec, const RankMemory& memory, RlhfPhase from,
                              RlhfPhase to, bool swap_phases) {
  Transition transition{.name = to_string(from) + " -> " + to_string(to)};
  std::vector<std::string> freed, written, loaded;
  for (const Component& component : memory.components) {
    const bool before = component.on_gpu_in(from, swap_phases);
    const bool after = component.on_gpu_in(to, swap_phases);
    if (before == after) continue;
    if (!component.resident) {
      if (!before) continue;  // made by the next phase itself
      transition.freed += component.bytes;
      freed.emplace_back(component.name);
    } else if (after) {
      transition.from_host += component.bytes;
      loaded.emplace_back(component.name);
    } else if (component.trained) {  // every phase before training still needs it
      transition.to_host += component.bytes;
      written.emplace_back(component.name);
    } else {
      transition.freed += component.bytes;
      freed.emplace_back(component.name);
    }
  }
  std::vector<std::string> parts = {sentence("frees", freed), sentence("writes back", written),
                                    sentence("loads", loaded)};
  std::erase(parts, "");
  transition.what = parts.empty() ? "nothing" : join(parts, "; ");
  transition.seconds = seconds_over(spec.card, transition.to_host + transition.from_host);
  return transition;
}

}  // namespace

std::vector<Transition> transitions(const RlhfSpec& spec, const RankMemory& memory,
                                    bool swap_phases) {
  const std::vector<RlhfPhase> phases = phases_of(spec);
  std::vector<Transition> all;
  for (size_t i = 0; phases.size() > 1 && i < phases.size(); ++i) {
    all.push_back(
        transition_between(spec, memory, phases[i], phases[(i + 1) % phases.size()], swap_phases));
  }
  return all;
}

std::vector<Transition> traffic_within_phases(const RlhfSpec& spec, const RlhfModels& models,
                                              const RankMemory& memory) {
  std::vector<Transition> all;
  const auto shards = [&](const RlhfModels::Model& model, int64_t from_stage) {
    const Layout& layout = spec.setup.layout;
    const int64_t elements = stage_elements(model.elements, layout, memory.stage).total();
    return of_replica(layout, elements, from_stage);
  };
  if (spec.setup.reference == Reference::kOffload) {
    Transition pass{
        .name = "within scoring",
        .from_host = spec.precision.low * shards(models.actor, 3) * spec.micro_batches(),
        .what = "the reference's layers come over one by one, once per micro-batch"};
    pass.seconds = seconds_over(spec.card, pass.from_host);
    all.push_back(pass);
  }
  if (spec.setup.offloads_optimizer()) {
    int64_t updated = shards(models.actor, 1);
    if (models.critic) updated += shards(*models.critic, 1);
    Transition step{.name = "within training, each step",
                    .to_host = spec.precision.gradient * updated,
                    .from_host = spec.precision.weight * updated,
                    .what = "gradients go to the host, updated weights come back"};
    step.seconds = seconds_over(spec.card, step.to_host + step.from_host);
    all.push_back(step);
  }
  return all;
}

}  // namespace headroom
