#include "plan/rlhf/memory.h"

#include <algorithm>

#include "plan/rlhf/iteration.h"
#include "plan/rlhf/rank_components.h"
#include "plan/rlhf/rehearsed.h"
#include "train/settings/whole_units.h"

namespace headroom {

// BF16 weights compute in BF16 without autocast, like `headroom profile --param-dtype bf16`. No run
// has FP16 weights: their activations are autocast's.
BatchShape batch_shape(const RlhfSpec& spec, int64_t tokens) {
  BatchShape shape{.sequences = spec.micro_batch(),
                   .tokens = tokens,
                   .attention = spec.attention,
                   .precision = spec.precision.compute};
  if (spec.precision.weight == 2 && spec.precision.compute == Precision::kBf16) {
    shape.precision = Precision::kFp32;
    shape.weights = WeightType::kBf16;
  }
  return shape;
}

namespace {

RlhfModels::Model model_of(const RlhfSpec& spec, const ModelConfig& config, Head head) {
  return {model_elements(config, head), batch_cost(config, head, batch_shape(spec, spec.seq_len))};
}

}  // namespace

std::string to_string(RlhfPhase phase) {
  if (phase == RlhfPhase::kGeneration) return "generation";
  return phase == RlhfPhase::kScoring ? "scoring" : "training";
}

bool Component::needed_in(RlhfPhase phase) const { return (needed & bit(phase)) != 0; }

bool Component::on_gpu_in(RlhfPhase phase, bool swap_phases) const {
  return needed_in(phase) || (resident && !swap_phases);
}

int64_t sum(const std::vector<Component>& components) {
  int64_t bytes = 0;
  for (const Component& component : components) bytes += component.bytes;
  return bytes;
}

std::vector<Component> largest_first(std::vector<Component> components) {
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.bytes > b.bytes; });
  return components;
}

std::vector<RlhfPhase> phases_of(const RlhfSpec& spec) {
  std::vector<RlhfPhase> phases;
  if (spec.generates()) phases.push_back(RlhfPhase::kGeneration);
  if (spec.scores()) phases.push_back(RlhfPhase::kScoring);
  phases.push_back(RlhfPhase::kTraining);
  return phases;
}

std::vector<Component> RankMemory::in_phase(RlhfPhase phase, bool swap_phases) const {
  std::vector<Component> present;
  for (const Component& component : components) {
    if (component.on_gpu_in(phase, swap_phases)) present.push_back(component);
  }
  return present;
}

int64_t RankMemory::phase_bytes(RlhfPhase phase, bool swap_phases) const {
  int64_t bytes = 0;
  for (const Component& component : components) {
    if (component.on_gpu_in(phase, swap_phases)) bytes += component.bytes;
  }
  return bytes;
}

int64_t RankMemory::peak_bytes(bool swap_phases) const {
  int64_t peak = 0;
  for (const RlhfPhase phase : kRlhfPhases) {
    if ((phases & bit(phase)) != 0) peak = std::max(peak, phase_bytes(phase, swap_phases));
  }
  return peak;
}

int64_t RankMemory::host_bytes(bool swap_phases) const {
  int64_t bytes = offloaded_bytes;
  for (const Component& component : components) {
    if (swap_phases && component.resident && component.needed != phases) bytes += component.bytes;
  }
  return bytes;
}

RlhfModels::RlhfModels(const RlhfSpec& spec)
    : actor(model_of(spec, spec.actor, spec.generates() ? Head::kPolicy : Head::kLanguage)),
      steps(std::make_shared<RehearsedSteps>()),
      iterations(std::make_shared<RehearsedIterations>()) {
  if (spec.critic) critic = model_of(spec, *spec.critic, Head::kValue);
  if (spec.reward) reward = model_of(spec, *spec.reward, Head::kValue);
  if (spec.generates()) {
    prefill = batch_cost(spec.actor, Head::kPolicy, batch_shape(spec, spec.prompt_len()));
  }
}

RlhfModels::RlhfModels(const RlhfSpec& spec, const RlhfModels& known) : RlhfModels(spec) {
  steps = known.steps;
  iterations = known.iterations;
}

std::vector<RankMemory> rank_memories(const RlhfSpec& spec, const RlhfModels& models) {
  std::vector<int64_t> stages = {0};
  if (spec.setup.layout.pp > 2) stages.push_back(1);
  if (spec.setup.layout.pp > 1) stages.push_back(spec.setup.layout.pp - 1);
  std::vector<RankMemory> memories;
  memories.reserve(stages.size());
  for (const int64_t stage : stages) memories.push_back(stage_memory(spec, models, stage));
  return memories;
}

RankMemory added_up(const RlhfSpec& spec, const RlhfModels& models) {
  std::vector<RankMemory> memories = rank_memories(spec, models);
  return std::move(*std::max_element(
      memories.begin(), memories.end(), [&](const RankMemory& a, const RankMemory& b) {
        return a.peak_bytes(spec.setup.swap_phases) < b.peak_bytes(spec.setup.swap_phases);
      }));
}

namespace {

bool is_iteration(const RlhfSpec& spec) {
  return spec.generates() && spec.setup.layout.ranks() == 1;
}

// A lower bound of training when the update begins: lasting components and gradients. An optimizer
// on the host leaves no gradients here; ZeRO may leave a shard of them.
RankMemory when_update_begins(const RlhfSpec& spec, RankMemory memory) {
  const bool leaving = spec.setup.offloads_optimizer();
  const bool shared = spec.setup.layout.zero == 1;
  std::erase_if(memory.components, [&](const Component& one) {
    const bool gradients = one.kind == ComponentKind::kGradients && one.name != kGradientsInFlight;
    return one.in_step && (!gradients || leaving);
  });
  for (Component& one : memory.components) {
    if (one.in_step && shared) one.bytes /= spec.setup.layout.dp;
  }
  return memory;
}

// The same when a forward ends: lasting components and activations kept for backward.
RankMemory when_forward_ends(RankMemory memory) {
  std::erase_if(memory.components,
                [](const Component& one) { return one.in_step && one.name != kKeptForBackward; });
  return memory;
}

}  // namespace

RankMemory worst_rank(const RlhfSpec& spec, const RlhfModels& models,
                      std::optional<int64_t> bytes) {
  const std::string why = why_added_up(spec);
  if (why.empty()) {
    return is_iteration(spec) ? rehearsed_iteration(spec, models, added_up(spec, models))
                              : rehearsed(spec, models, bytes);
  }
  RankMemory memory = added_up(spec, models);
  memory.training =
      "added up from rows (" + why + "): every gradient, no temporaries but the loss'";
  return memory;
}

int64_t least_bytes(const RlhfSpec& spec, const RankMemory& added_up) {
  const bool swap = spec.setup.swap_phases;
  if (!why_added_up(spec).empty()) return added_up.peak_bytes(swap);
  if (!is_iteration(spec)) {
    return std::max(when_update_begins(spec, added_up).peak_bytes(swap),
                    when_forward_ends(added_up).peak_bytes(swap));
  }
  RankMemory least = added_up;
  int64_t gradients = 0;  // the trained models are updated one after the other
  std::erase_if(least.components, [&](Component& component) {
    if (component.kind == ComponentKind::kGradients)
      gradients = std::max(gradients, component.bytes);
    return !component.resident && component.kind != ComponentKind::kKvCache;
  });
  least.components.push_back(
      {.kind = ComponentKind::kGradients, .bytes = gradients, .needed = bit(RlhfPhase::kTraining)});
  return least.peak_bytes(swap);
}

std::string rank_in_words(const RlhfSpec& spec, int64_t stage) {
  const int64_t pp = spec.setup.layout.pp;
  if (pp == 1) return "every GPU";
  int64_t first = 0;
  for (int64_t before = 0; before < stage; ++before) {
    first += layers_of_stage(spec.actor.layers, pp, before);
  }
  const int64_t layers = layers_of_stage(spec.actor.layers, pp, stage);
  std::string text = "stage " + std::to_string(stage) + " of " + std::to_string(pp) + ": ";
  if (stage == 0) text += "token table, ";
  text += "layers " + std::to_string(first) + " to " + std::to_string(first + layers - 1);
  return stage == pp - 1 ? text + ", output head" : text;
}

int64_t kv_cache_bytes(const RlhfSpec& spec, int64_t stage) {
  const int64_t tokens = whole_units(spec.seq_len, kTokensPerBlock);
  return 2 * layers_of_stage(spec.actor.layers, spec.setup.layout.pp, stage) *
         (spec.actor.kv_dim() / spec.setup.layout.tp) * bytes_of(spec.cache) * spec.batch_size *
         tokens;
}

}  // namespace headroom
