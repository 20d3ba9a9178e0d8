// Weights, gradients and optimizers of a rank, and temporary copies by ZeRO and autocast.
#include "plan/rlhf/rank_book.h"

namespace headroom {
namespace {

using Model = RankBook::Model;

// Gradients that go to the host are here only in flight.
void add_gradients(RankBook& book, int64_t elements, const char* name) {
  const int64_t bytes = book.spec().precision.gradient * book.sharded(elements, 2);
  if (book.gradients_leave()) {
    book.add_to_host(bytes);
    return;
  }
  book.add({.name = name,
            .kind = ComponentKind::kGradients,
            .bytes = bytes,
            .needed = kWhenTraining,
            .in_step = true,
            .why = "of every weight of this rank, alive together when backward ends"});
}

void add_trained(RankBook& book, const Model& model, const StepNames& names, unsigned needed) {
  const int64_t elements = book.elements_here(model).total();
  const StatePrecision& precision = book.spec().precision;
  book.add({.name = names.weights,
            .kind = ComponentKind::kWeights,
            .bytes = precision.weight * book.sharded(elements, 3),
            .needed = needed,
            .resident = true,
            .trained = true,
            .why = "bytes per parameter x parameters of this rank"});
  add_gradients(book, elements, names.gradients);
  const int64_t updated = book.sharded(elements, 1);
  const int64_t optimizer =
      precision.master * updated + optimizer_bytes(model.elements, book.layout(), book.stage(),
                                                   book.spec().optimizer, precision.moment);
  if (book.spec().setup.offloads_optimizer()) {
    book.add_to_host(optimizer);
    return;
  }
  book.add(
      {.name = names.optimizer,
       .kind = ComponentKind::kOptimizer,
       .bytes = optimizer,
       .needed = kWhenTraining,
       .resident = true,
       .trained = true,
       .why = "the optimizer's moments, and FP32 master weights where the precision has them"});
}

void add_frozen(RankBook& book, const char* name, const Model& model, bool streamed) {
  const StageElements elements = book.elements_here(model);
  const int64_t bytes = book.spec().precision.low * book.sharded(elements.total(), 3);
  if (streamed) {
    book.add_to_host(bytes);
    if (book.gathers()) return;  // shards go from the host into the gathered layers
    book.add({.name = name,
              .kind = ComponentKind::kWeights,
              .bytes = book.spec().precision.low * elements.largest_neighbours(),
              .needed = kWhenScoring,
              .why = "in host memory; two neighbouring layers are here while it scores"});
    return;
  }
  book.add({.name = name,
            .kind = ComponentKind::kWeights,
            .bytes = bytes,
            .needed = kWhenScoring,
            .resident = true,
            .why = "only read: low-precision weights, nothing else"});
}

void add_reference(RankBook& book) {
  if (book.spec().setup.reference == Reference::kNone) return;
  add_frozen(book, kReferenceWeights.data(), book.models().actor,
             book.spec().setup.reference == Reference::kOffload);
}

// Tensors that are whole for a moment, before they are sharded or go to the host.
void add_gathered(RankBook& book) {
  const int64_t low = book.spec().precision.low;
  const auto neighbours = [&](const Model& model) {
    return book.elements_here(model).largest_neighbours();
  };
  if (book.gathers()) {
    book.add({.name = "Actor, gathered",
              .kind = ComponentKind::kWeights,
              .bytes = low * book.elements_here(book.models().actor).total(),
              .needed = kWhenGenerating,
              .why = "ZeRO-3's shards put together: every token reads every weight"});
    const int64_t layers = low * book.largest(book.all(), neighbours);
    const char* const why = "ZeRO-3: the layer that computes and the one fetched ahead, whole";
    book.add({.name = "Gathered layers",
              .kind = ComponentKind::kWeights,
              .bytes = layers,
              .needed = kWhenScoring,
              .why = why});
    book.add({.name = kGatheredInStep,
              .kind = ComponentKind::kWeights,
              .bytes = layers,
              .needed = kWhenTraining,
              .in_step = true,
              .why = why});
  }
  const bool scattered = book.layout().zero >= 2 && book.layout().dp > 1;
  if (book.gradients_leave() || scattered) {
    book.add({.name = kGradientsInFlight.data(),
              .kind = ComponentKind::kGradients,
              .bytes = book.spec().precision.gradient * book.largest(book.trained(), neighbours),
              .needed = kWhenTraining,
              .in_step = true,
              .why = "two neighbouring layers' whole gradients, before they are sharded or leave"});
  }
}

// A model without gradients has the casts of all blocks; a trained model those of the blocks that
// keep their activations. A recomputed block casts again: rank_activities.cpp.
void add_casts(RankBook& book) {
  if (book.spec().precision.cast == 0) return;
  const auto casts = [&](const Model& model, const Checkpoint& checkpoint) {
    int64_t blocks = 0;
    for (const BlockGroup& group : block_groups(checkpoint, book.elements_here(model).layers)) {
      if (!group.recomputed) blocks += group.count();
    }
    return blocks * book.block_casts(model) + book.head_casts(model);
  };
  const auto all = [&](const Model& model) { return casts(model, {}); };
  const auto kept = [&](const Model& model) { return casts(model, book.spec().setup.checkpoint); };
  const auto add = [&](const char* name, int64_t bytes, unsigned needed, const char* why) {
    book.add({.name = name,
              .kind = ComponentKind::kWeights,
              .bytes = bytes,
              .needed = needed,
              .in_step = needed == kWhenTraining,
              .why = why});
  };
  add("Autocast's casts (generation)", all(book.models().actor), kWhenGenerating,
      "a low-precision copy of each weight, until the pass ends");
  add("Autocast's casts (scoring)", book.largest(book.trained(), all), kWhenScoring,
      "a low-precision copy of each weight of the model that runs");
  add("Autocast's casts", book.largest(book.trained(), kept), kWhenTraining,
      "a low-precision copy of each weight of the model that runs, but for blocks that are "
      "computed again");
}

}  // namespace

void add_states(RankBook& book) {
  add_trained(book, book.models().actor, kActorNames, kAlways);
  if (book.models().critic) {
    add_trained(book, *book.models().critic, kCriticNames, kWhenScoring | kWhenTraining);
  }
  add_reference(book);
  if (book.models().reward) {
    add_frozen(book, "Reward model (weights)", *book.models().reward, /*streamed=*/false);
  }
  add_gathered(book);
  add_casts(book);
}

}  // namespace headroom
