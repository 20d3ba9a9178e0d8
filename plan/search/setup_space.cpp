#include "plan/search/setup_space.h"

#include <algorithm>

namespace headroom {
namespace {

std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> all;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor) {
    if (number % divisor == 0) all.push_back(divisor);
  }
  return all;
}

bool stages_divide(const RlhfSpec& spec, int64_t pp) {
  const auto divided = [&](const ModelConfig& config) { return config.layers % pp == 0; };
  return divided(spec.actor) && (!spec.critic || divided(*spec.critic)) &&
         (!spec.reward || divided(*spec.reward));
}

std::vector<Layout> layouts(const RlhfSpec& spec) {
  std::vector<Layout> all;
  for (const int64_t tp : divisors(spec.num_gpus, kGpusPerNode)) {
    if (!tp_divides_all(spec, tp)) continue;
    for (const int64_t pp : divisors(spec.num_gpus / tp, spec.actor.layers)) {
      if (!stages_divide(spec, pp)) continue;
      all.push_back({.tp = tp,
                     .pp = pp,
                     .dp = spec.num_gpus / tp / pp,
                     .zero = 0,
                     .sequence_parallel = tp > 1});
    }
  }
  return all;
}

// The batch, halved until one sequence is left.
std::vector<int64_t> micro_batch_sizes(const RlhfSpec& spec) {
  std::vector<int64_t> sizes = {spec.micro_batch()};
  while (sizes.back() > 1) sizes.push_back((sizes.back() + 1) / 2);
  return sizes;
}

// In order of cost. Groups and shares of blocks are not searched.
std::vector<Checkpoint> checkpoints(const RlhfSpec& spec) {
  std::vector<Checkpoint> all = {{CheckpointKind::kNone}};
  if (spec.attention == Attention::kEager) all.push_back({CheckpointKind::kSelective});
  all.push_back({CheckpointKind::kFull});
  return all;
}

std::vector<Reference> references(const RlhfSpec& spec) {
  if (spec.setup.reference == Reference::kNone) return {Reference::kNone};
  return {Reference::kResident, Reference::kOffload};
}

// Without replicas ZeRO shards nothing.
std::vector<int64_t> zero_stages(const Layout& layout) {
  return layout.dp > 1 ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0};
}

void add_techniques(const RlhfSpec& spec, const RlhfSetup& shape, std::vector<RlhfSetup>& all) {
  const bool one_phase = !spec.scores() && !spec.generates();
  for (const Checkpoint& checkpoint : checkpoints(spec)) {
    for (const Reference reference : references(spec)) {
      for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
        for (const bool swap : {false, true}) {
          if (swap && one_phase) continue;
          for (const int64_t zero : zero_stages(shape.layout)) {
            RlhfSetup setup = shape;
            setup.layout.zero = zero;
            setup.checkpoint = checkpoint;
            setup.reference = reference;
            setup.optimizer_space = space;
            setup.swap_phases = swap;
            all.push_back(setup);
          }
        }
      }
    }
  }
}

// The widest layout with a smaller tp (or pp), the other unchanged; the replicas get the GPUs.
Layout narrower(const RlhfSpec& spec, const Layout& layout, int64_t Layout::*width) {
  int64_t Layout::*kept = width == &Layout::tp ? &Layout::pp : &Layout::tp;
  Layout best = layout;
  best.*width = 0;
  for (const Layout& other : layouts(spec)) {
    const bool below = other.*kept == layout.*kept && other.*width < layout.*width;
    if (below && other.*width > best.*width) best = other;
  }
  best.zero = layout.zero;
  return best;
}

int64_t passes(const RlhfSpec& spec, int64_t micro_batch) {
  return (spec.batch_size + micro_batch - 1) / micro_batch;
}

int64_t next_larger(const std::vector<int64_t>& falling, int64_t size) {
  const auto it = std::find(falling.begin(), falling.end(), size);
  return it == falling.begin() || it == falling.end() ? size : *(it - 1);
}

}  // namespace

std::vector<RlhfSetup> all_setups(const RlhfSpec& spec) {
  std::vector<RlhfSetup> all;
  for (const Layout& layout : layouts(spec)) {
    for (const int64_t size : micro_batch_sizes(spec)) {
      if (layout.pp > 1 && passes(spec, size) < layout.pp) continue;
      add_techniques(spec, {.layout = layout, .micro_batch_size = size}, all);
    }
  }
  return all;
}

std::vector<StepBack> one_step_back(const RlhfSpec& spec, const RlhfSetup& setup) {
  std::vector<StepBack> steps;
  // Returns the set-up in which to undo the technique.
  const auto step = [&](const std::string& technique, const std::string& instead) -> RlhfSetup& {
    steps.push_back({technique, instead, setup, ""});
    return steps.back().setup;
  };
  const Layout& layout = setup.layout;
  if (setup.offloads_optimizer()) {
    step("optimizer offload", "the optimizer on the GPU").optimizer_space = MemorySpace::kDevice;
  }
  if (layout.pp > 1) {
    const Layout less = narrower(spec, layout, &Layout::pp);
    step("pp " + std::to_string(layout.pp), to_string(less)).layout = less;
  }
  if (setup.swap_phases) step("swapped phases", "everything resident").swap_phases = false;
  if (layout.zero > 0) {
    const int64_t less = layout.zero - 1;
    step("ZeRO-" + std::to_string(layout.zero), "ZeRO-" + std::to_string(less)).layout.zero = less;
  }
  if (setup.checkpoint.kind != CheckpointKind::kNone) {
    const std::vector<Checkpoint> kinds = checkpoints(spec);
    const Checkpoint less = *(std::find(kinds.begin(), kinds.end(), setup.checkpoint) - 1);
    step("checkpoint " + to_string(setup.checkpoint), "checkpoint " + to_string(less)).checkpoint =
        less;
  }
  if (setup.reference == Reference::kOffload) {
    step("reference offload", "a resident reference").reference = Reference::kResident;
  }
  if (layout.tp > 1) {
    const Layout less = narrower(spec, layout, &Layout::tp);
    step("tp " + std::to_string(layout.tp), to_string(less)).layout = less;
  }
  const int64_t size = setup.micro_batch_size;
  const int64_t larger = next_larger(micro_batch_sizes(spec), size);
  if (larger > size) {
    step("micro-batch " + std::to_string(size), "micro-batch " + std::to_string(larger))
        .micro_batch_size = larger;
    if (layout.pp > 1 && passes(spec, larger) < layout.pp) {
      steps.back().refused = "leaves stages of the pipeline without work";
    }
  }
  return steps;
}

}  // namespace headroom
