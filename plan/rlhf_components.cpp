#include "plan/rlhf_components.h"

#include <algorithm>

#include "plan/experience.h"

namespace headroom {
namespace {

constexpr unsigned kGenerating = bit(Phase::kGeneration);
constexpr unsigned kScoring = bit(Phase::kScoring);
constexpr unsigned kTraining = bit(Phase::kTraining);
constexpr unsigned kAlways = kGenerating | kScoring | kTraining;

// Writes the components of one stage.
class Stage {
 public:
  Stage(const RlhfSpec& spec, const RlhfModels& models, int64_t stage)
      : spec_(spec), models_(models), layout_(spec.setup.layout), stage_(stage) {
    memory_.stage = stage;
    memory_.phases =
        kTraining | (spec.generates() ? kGenerating : 0U) | (spec.scores() ? kScoring : 0U);
  }

  RankMemory write() {
    add_trained(models_.actor, {"Actor (weights)", "Actor (gradients)", "Actor (optimizer)"},
                kAlways);
    for (const auto& critic : models_.critic) {
      add_trained(critic, {"Critic (weights)", "Critic (gradients)", "Critic (optimizer)"},
                  kScoring | kTraining);
    }
    add_reference();
    for (const auto& reward : models_.reward) {
      add_frozen("Reward model (weights)", reward, /*streamed=*/false);
    }
    add_gathered();
    add_casts();
    add_generation();
    add_scoring();
    add_training();
    add_experience();
    add_context();
    return std::move(memory_);
  }

 private:
  using Model = RlhfModels::Model;
  struct Names {
    const char* weights;
    const char* gradients;
    const char* optimizer;
  };

  StageElements held(const Model& model) const {
    return stage_elements(model.elements, layout_, stage_);
  }
  bool gathers() const { return layout_.zero >= 3 && layout_.dp > 1; }
  bool last() const { return stage_ == layout_.pp - 1; }
  int64_t on_rank(const Model& model, const Extent& extent) const {
    return extent.on_rank(layout_, model.elements.config.vocab_size);
  }
  int64_t sharded(int64_t elements, int64_t from_stage) const {
    return layout_.zero >= from_stage ? shard(elements, layout_.dp) : elements;
  }
  // Phases that this spec does not have need nothing.
  void add(Component component) {
    component.needed &= memory_.phases;
    if (component.bytes > 0 && component.needed != 0) memory_.components.push_back(component);
  }

  std::vector<const Model*> trained() const {
    std::vector<const Model*> all = {&models_.actor};
    for (const auto& critic : models_.critic) all.push_back(&critic);
    return all;
  }
  std::vector<const Model*> all() const {
    std::vector<const Model*> models = trained();
    for (const auto& reward : models_.reward) models.push_back(&reward);
    return models;
  }
  template <typename Of>
  static int64_t most(const std::vector<const Model*>& models, const Of& of) {
    int64_t bytes = 0;
    for (const Model* model : models) bytes = std::max(bytes, of(*model));
    return bytes;
  }

  void add_trained(const Model& model, const Names& names, unsigned needed) {
    const int64_t elements = held(model).total();
    const StatePrecision& precision = spec_.precision;
    add({.name = names.weights,
         .kind = Kind::kWeights,
         .bytes = precision.weight * sharded(elements, 3),
         .needed = needed,
         .resident = true,
         .trained = true,
         .why = "bytes per parameter x parameters of this rank"});
    add_gradients(elements, names.gradients);
    const int64_t updated = sharded(elements, 1);
    const int64_t optimizer =
        precision.master * updated + moment_bytes(precision, spec_.moments, updated);
    if (spec_.setup.optimizer_offload) {
      memory_.offloaded_bytes += optimizer;
      return;
    }
    add({.name = names.optimizer,
         .kind = Kind::kOptimizer,
         .bytes = optimizer,
         .needed = kTraining,
         .resident = true,
         .trained = true,
         .why = "Adam's two moments and the FP32 master weights where the precision has them"});
  }

  // With its optimizer on the host, a sharded gradient goes there as backward makes it
  // (ZeRO-Offload, Ren et al. 2021): only what is in flight is here.
  void add_gradients(int64_t elements, const char* name) {
    const int64_t bytes = spec_.precision.gradient * sharded(elements, 2);
    if (spec_.setup.optimizer_offload && layout_.zero >= 2) {
      memory_.offloaded_bytes += bytes;
      return;
    }
    add({.name = name,
         .kind = Kind::kGradients,
         .bytes = bytes,
         .needed = kTraining,
         .why = "of every weight of this rank, alive together when backward ends"});
  }

  void add_frozen(const char* name, const Model& model, bool streamed) {
    const StageElements elements = held(model);
    const int64_t bytes = spec_.precision.low * sharded(elements.total(), 3);
    if (streamed) {
      memory_.offloaded_bytes += bytes;
      if (gathers()) return;  // shards come from the host into the layers that are gathered
      add({.name = name,
           .kind = Kind::kWeights,
           .bytes = spec_.precision.low * elements.largest_neighbours(),
           .needed = kScoring,
           .why = "in host memory; two neighbouring layers are here while it scores"});
      return;
    }
    add({.name = name,
         .kind = Kind::kWeights,
         .bytes = bytes,
         .needed = kScoring,
         .resident = true,
         .why = "only read: low-precision weights, nothing else"});
  }

  void add_reference() {
    if (spec_.setup.reference == Reference::kNone) return;
    add_frozen(kReferenceWeights.data(), models_.actor,
               spec_.setup.reference == Reference::kOffload);
  }

  // ZeRO-2 and 3: what is whole for a moment, between computing and being sharded.
  void add_gathered() {
    const int64_t low = spec_.precision.low;
    const auto neighbours = [&](const Model& model) { return held(model).largest_neighbours(); };
    if (gathers()) {
      add({.name = "Actor, gathered",
           .kind = Kind::kWeights,
           .bytes = low * held(models_.actor).total(),
           .needed = kGenerating,
           .why = "ZeRO-3's shards put together: every token reads every weight"});
      add({.name = "Gathered layers",
           .kind = Kind::kWeights,
           .bytes = low * most(all(), neighbours),
           .needed = kScoring | kTraining,
           .why = "ZeRO-3: the layer that computes and the one fetched ahead, whole"});
    }
    const bool leaving = spec_.setup.optimizer_offload || layout_.dp > 1;
    if (layout_.zero >= 2 && leaving) {
      add({.name = "Gradients in flight",
           .kind = Kind::kGradients,
           .bytes = spec_.precision.gradient * most(trained(), neighbours),
           .needed = kTraining,
           .why = "two neighbouring layers' whole gradients, before they are sharded or leave"});
    }
  }

  void add_casts() {
    if (spec_.precision.cast == 0 || layout_.zero >= 3) return;  // gathered in low precision
    const auto casts = [&](const Model& model) {
      return spec_.precision.cast * (held(model).total() - held(model).embedding);
    };
    add({.name = "Autocast's casts",
         .kind = Kind::kWeights,
         .bytes = casts(models_.actor),
         .needed = kGenerating,
         .why = "a low-precision copy of each weight, until the pass ends"});
    add({.name = "Autocast's casts",
         .kind = Kind::kWeights,
         .bytes = most(trained(), casts),
         .needed = kScoring | kTraining,
         .why = "a low-precision copy of each weight of the model that runs"});
  }

  int64_t forward_block(const Model& model) const {
    return std::max(on_rank(model, model.cost.forward_softmax),
                    on_rank(model, model.cost.forward_feed_forward));
  }

  void add_generation() {
    if (!spec_.generates()) return;
    add({.name = "KV cache",
         .kind = Kind::kKvCache,
         .bytes = kv_cache_bytes(spec_, stage_),
         .needed = kGenerating,
         .scales = true,
         .why = "2 x layers x key/value heads x head dimension x bytes x tokens"});
    const Model& actor = models_.actor;
    const int64_t vocabulary = shard(actor.elements.config.vocab_size, layout_.tp);
    constexpr int64_t kSampled = 8;  // FP32 logits and probabilities
    const int64_t sampling = last() ? kSampled * spec_.batch_size * vocabulary : 0;
    const int64_t prefill =
        held(actor).layers > 0 ? forward_block(actor) * spec_.prompt_len() / spec_.seq_len : 0;
    add({.name = "Prefill and sampling",
         .kind = Kind::kActivations,
         .bytes = std::max(prefill, sampling),
         .needed = kGenerating,
         .scales = true,
         .why = "temporaries of a micro-batch's prompts, or logits of one token per sequence"});
  }

  void add_scoring() {
    if (!spec_.scores()) return;
    add({.name = "Activations (scoring)",
         .kind = Kind::kActivations,
         .bytes = most(all(),
                       [&](const Model& model) {
                         const int64_t head = last() ? on_rank(model, model.cost.forward_head) : 0;
                         return std::max(forward_block(model), head);
                       }),
         .needed = kScoring,
         .scales = true,
         .why = "temporaries without gradients: one block, or logits and their log-softmax"});
  }

  struct Activations {
    int64_t blocks = 0;
    int64_t head = 0;       // logits, loss and the gradients backward starts with
    int64_t recompute = 0;  // one block, computed again; the head is gone by then
    int64_t peak() const { return blocks + std::max(head, recompute); }
  };

  Activations activations(const Model& model) const {
    const BatchCost& cost = model.cost;
    Extent kept = cost.block;
    Extent again;
    if (spec_.setup.checkpoint == Checkpoint::kFull) {
      kept = cost.boundary;
      again = cost.block - cost.boundary;
    } else if (spec_.setup.checkpoint == Checkpoint::kSelective) {
      kept = cost.block - cost.attention_core;
      again = cost.attention_core;
    }
    const int64_t in_flight = micro_batches_in_flight(spec_.micro_batches(), layout_.pp, stage_);
    int64_t blocks = held(model).layers * on_rank(model, kept);
    if (stage_ == 0) blocks += on_rank(model, cost.embedding);
    return {.blocks = in_flight * blocks,
            .head = last() ? on_rank(model, cost.head + cost.head_backward) : 0,
            .recompute = on_rank(model, again)};
  }

  void add_training() {
    Activations most;
    for (const Model* model : trained()) {
      const Activations of = activations(*model);
      if (of.peak() >= most.peak()) most = of;
    }
    add({.name = "Activations",
         .kind = Kind::kActivations,
         .bytes = most.blocks,
         .needed = kTraining,
         .scales = true,
         .why = "kept for backward by this stage's layers, for each micro-batch in flight"});
    const bool head = most.head >= most.recompute;
    add({.name = head ? "Logits and loss" : "Recomputed block",
         .kind = Kind::kActivations,
         .bytes = std::max(most.head, most.recompute),
         .needed = kTraining,
         .scales = true,
         .why = head ? "logits, what the loss keeps of them, and the gradients backward starts with"
                     : "what checkpointing dropped, computed again for one block"});
  }

  void add_experience() {
    const int64_t early = experience_bytes(spec_, /*while_generating=*/true);
    const int64_t whole = experience_bytes(spec_, /*while_generating=*/false);
    add({.name = "Tokens and mask",
         .kind = Kind::kExperience,
         .bytes = early,
         .needed = kAlways,
         .scales = true,
         .why = "int64, of the whole batch"});
    add({.name = "PPO scores",
         .kind = Kind::kExperience,
         .bytes = whole - early,
         .needed = kScoring | kTraining,
         .scales = true,
         .why = "log-probabilities, values, rewards, advantages, returns per response token"});
  }

  void add_context() {
    const int64_t workspace = cublas_workspace_bytes(spec_.card);
    add({.name = "cuBLAS workspaces",
         .kind = Kind::kContext,
         .bytes = workspace,
         .needed = kAlways,
         .resident = true,
         .why = "libtorch's default, one handle"});
    add({.name = "cuBLAS workspace, backward",
         .kind = Kind::kContext,
         .bytes = workspace,
         .needed = kTraining,
         .why = "autograd's thread has a handle of its own"});
    add({.name = "CUDA context",
         .kind = Kind::kContext,
         .bytes = spec_.card.context_bytes,
         .needed = kAlways,
         .resident = true,
         .assumed = true,
         .why = "of the card table"});
  }

  const RlhfSpec& spec_;
  const RlhfModels& models_;
  const Layout& layout_;
  int64_t stage_;
  RankMemory memory_;
};

}  // namespace

RankMemory stage_memory(const RlhfSpec& spec, const RlhfModels& models, int64_t stage) {
  return Stage(spec, models, stage).write();
}

}  // namespace headroom
