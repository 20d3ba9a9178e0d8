// Weights, gradients and optimizers of a rank, and temporary copies by ZeRO and autocast.
#include "plan/rlhf/rank_components.h"

namespace headroom {
namespace {

using Model = RankComponents::Model;

// Gradients that go to the host are here only in flight.
void add_gradients(RankComponents& rank, int64_t elements, const char* name) {
  const int64_t bytes = rank.spec().precision.gradient * rank.sharded(elements, 2);
  if (rank.gradients_leave()) {
    rank.add_to_host(bytes);
    return;
  }
  rank.add({.name = name,
            .kind = ComponentKind::kGradients,
            .bytes = bytes,
            .needed = kWhenTraining,
            .in_step = true,
            .why = "of every weight of this rank, alive together when backward ends"});
}

void add_trained(RankComponents& rank, const Model& model, const StepNames& names,
                 unsigned needed) {
  const int64_t elements = rank.elements_here(model).total();
  const StatePrecision& precision = rank.spec().precision;
  rank.add({.name = names.weights,
            .kind = ComponentKind::kWeights,
            .bytes = precision.weight * rank.sharded(elements, 3),
            .needed = needed,
            .resident = true,
            .trained = true,
            .why = "bytes per parameter x parameters of this rank"});
  add_gradients(rank, elements, names.gradients);
  const int64_t updated = rank.sharded(elements, 1);
  const int64_t optimizer =
      precision.master * updated + optimizer_bytes(model.elements, rank.layout(), rank.stage(),
                                                   rank.spec().optimizer, precision.moment);
  if (rank.spec().setup.offloads_optimizer()) {
    rank.add_to_host(optimizer);
    return;
  }
  rank.add(
      {.name = names.optimizer,
       .kind = ComponentKind::kOptimizer,
       .bytes = optimizer,
       .needed = kWhenTraining,
       .resident = true,
       .trained = true,
       .why = "the optimizer's moments, and FP32 master weights where the precision has them"});
}

void add_frozen(RankComponents& rank, const char* name, const Model& model, bool streamed) {
  const StageElements elements = rank.elements_here(model);
  const int64_t bytes = rank.spec().precision.low * rank.sharded(elements.total(), 3);
  if (streamed) {
    rank.add_to_host(bytes);
    if (rank.gathers()) return;  // shards go from the host into the gathered layers
    rank.add({.name = name,
              .kind = ComponentKind::kWeights,
              .bytes = rank.spec().precision.low * elements.largest_neighbours(),
              .needed = kWhenScoring,
              .why = "in host memory; two neighbouring layers are here while it scores"});
    return;
  }
  rank.add({.name = name,
            .kind = ComponentKind::kWeights,
            .bytes = bytes,
            .needed = kWhenScoring,
            .resident = true,
            .why = "only read: low-precision weights, nothing else"});
}

void add_reference(RankComponents& rank) {
  if (rank.spec().setup.reference == Reference::kNone) return;
  add_frozen(rank, kReferenceWeights.data(), rank.models().actor,
             rank.spec().setup.reference == Reference::kOffload);
}

// Tensors that are whole for a moment, before they are sharded or go to the host.
void add_gathered(RankComponents& rank) {
  const int64_t low = rank.spec().precision.low;
  const auto neighbours = [&](const Model& model) {
    return rank.elements_here(model).largest_neighbours();
  };
  if (rank.gathers()) {
    rank.add({.name = "Actor, gathered",
              .kind = ComponentKind::kWeights,
              .bytes = low * rank.elements_here(rank.models().actor).total(),
              .needed = kWhenGenerating,
              .why = "ZeRO-3's shards put together: every token reads every weight"});
    const int64_t layers = low * rank.largest(rank.all(), neighbours);
    const char* const why = "ZeRO-3: the layer that computes and the one fetched ahead, whole";
    rank.add({.name = "Gathered layers",
              .kind = ComponentKind::kWeights,
              .bytes = layers,
              .needed = kWhenScoring,
              .why = why});
    rank.add({.name = kGatheredInStep,
              .kind = ComponentKind::kWeights,
              .bytes = layers,
              .needed = kWhenTraining,
              .in_step = true,
              .why = why});
  }
  const bool scattered = rank.layout().zero >= 2 && rank.layout().dp > 1;
  if (rank.gradients_leave() || scattered) {
    rank.add({.name = kGradientsInFlight.data(),
              .kind = ComponentKind::kGradients,
              .bytes = rank.spec().precision.gradient * rank.largest(rank.trained(), neighbours),
              .needed = kWhenTraining,
              .in_step = true,
              .why = "two neighbouring layers' whole gradients, before they are sharded or leave"});
  }
}

// A model without gradients has the casts of all blocks; a trained model those of the blocks that
// keep their activations. A recomputed block casts again: rank_activities.cpp.
void add_casts(RankComponents& rank) {
  if (rank.spec().precision.cast == 0) return;
  const auto casts = [&](const Model& model, const Checkpoint& checkpoint) {
    int64_t blocks = 0;
    for (const BlockGroup& group : block_groups(checkpoint, rank.elements_here(model).layers)) {
      if (!group.recomputed) blocks += group.count();
    }
    return blocks * rank.block_casts(model) + rank.head_casts(model);
  };
  const auto all = [&](const Model& model) { return casts(model, {}); };
  const auto kept = [&](const Model& model) { return casts(model, rank.spec().setup.checkpoint); };
  const auto add = [&](const char* name, int64_t bytes, unsigned needed, const char* why) {
    rank.add({.name = name,
              .kind = ComponentKind::kWeights,
              .bytes = bytes,
              .needed = needed,
              .in_step = needed == kWhenTraining,
              .why = why});
  };
  add("Autocast's casts (generation)", all(rank.models().actor), kWhenGenerating,
      "a low-precision copy of each weight, until the pass ends");
  add("Autocast's casts (scoring)", rank.largest(rank.trained(), all), kWhenScoring,
      "a low-precision copy of each weight of the model that runs");
  add("Autocast's casts", rank.largest(rank.trained(), kept), kWhenTraining,
      "a low-precision copy of each weight of the model that runs, but for blocks that are "
      "computed again");
}

}  // namespace

void add_states(RankComponents& rank) {
  add_trained(rank, rank.models().actor, kActorNames, kAlways);
  if (rank.models().critic) {
    add_trained(rank, *rank.models().critic, kCriticNames, kWhenScoring | kWhenTraining);
  }
  add_reference(rank);
  if (rank.models().reward) {
    add_frozen(rank, "Reward model (weights)", *rank.models().reward, /*streamed=*/false);
  }
  add_gathered(rank);
  add_casts(rank);
}

}  // namespace headroom
