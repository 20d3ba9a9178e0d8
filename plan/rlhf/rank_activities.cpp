// Components that phases make on a rank and free: cache, activations, experience; the CUDA context.
#include <algorithm>

#include "cards/cublas_workspace.h"
#include "plan/cost/library_bytes.h"
#include "plan/rlhf/experience.h"
#include "plan/rlhf/rank_components.h"

namespace headroom {
namespace {

using RankModel = RankComponents::Model;

int64_t forward_block(const RankComponents& rank, const RankModel& model, const BatchCost& cost) {
  return std::max(rank.on_rank(model, cost.forward_softmax),
                  rank.on_rank(model, cost.forward_feed_forward));
}

void add_generation(RankComponents& rank) {
  if (!rank.spec().generates()) return;
  rank.add({.name = "KV cache",
            .kind = ComponentKind::kKvCache,
            .bytes = kv_cache_bytes(rank.spec(), rank.stage()),
            .needed = kWhenGenerating,
            .scales = true,
            .why = "2 x layers x key/value heads x head dimension x bytes x tokens"});
  const RankModel& actor = rank.models().actor;
  const int64_t vocabulary = shard(actor.elements.config.vocab_size, rank.layout().tp);
  constexpr int64_t kSampled = 8;  // FP32 logits and probabilities
  const int64_t sampling = rank.last_stage() ? kSampled * rank.spec().batch_size * vocabulary : 0;
  const int64_t prefill = forward_block(rank, actor, rank.models().prefill);
  rank.add({.name = "Prefill and sampling",
            .kind = ComponentKind::kActivations,
            .bytes = std::max(prefill, sampling),
            .needed = kWhenGenerating,
            .scales = true,
            .why = "temporaries of a micro-batch's prompts, or logits of one token per sequence"});
}

void add_scoring(RankComponents& rank) {
  if (!rank.spec().scores()) return;
  rank.add({.name = "Activations (scoring)",
            .kind = ComponentKind::kActivations,
            .bytes = rank.largest(rank.all(),
                                  [&](const RankModel& model) {
                                    const int64_t head =
                                        rank.last_stage()
                                            ? rank.on_rank(model, model.cost.forward_head)
                                            : 0;
                                    return std::max(forward_block(rank, model, model.cost), head);
                                  }),
            .needed = kWhenScoring,
            .scales = true,
            .why = "temporaries without gradients: one block, or logits and their log-softmax"});
}

struct Activations {
  int64_t blocks = 0;
  int64_t head = 0;       // logits, loss and backward's first gradients
  int64_t recompute = 0;  // one recomputed group of blocks; the head is freed by then
  int64_t peak() const { return blocks + std::max(head, recompute); }
};

// Memory that this stage's blocks keep, and that backward recomputes at once. A stage groups its
// own blocks.
void add_blocks(const RankComponents& rank, const RankModel& model, Activations& result) {
  const Checkpoint& checkpoint = rank.spec().setup.checkpoint;
  const BatchCost& cost = model.cost;
  const int64_t whole = rank.on_rank(model, cost.block_kept(checkpoint.kind));
  const int64_t output = rank.on_rank(model, cost.block_output());
  if (checkpoint.kind == CheckpointKind::kSelective) {
    result.recompute = rank.on_rank(model, cost.core_recomputed);
  }
  for (const BlockGroup& group : block_groups(checkpoint, rank.elements_here(model).layers)) {
    if (!group.recomputed) {
      result.blocks += group.count() * whole;
      continue;
    }
    result.blocks += rank.on_rank(model, cost.stream);
    const int64_t again =
        rank.on_rank(model, cost.block_kept() - cost.block_output()) + rank.block_casts(model);
    result.recompute =
        std::max(result.recompute, group.count() * again + (group.count() - 1) * output);
  }
}

Activations activations(const RankComponents& rank, const RankModel& model) {
  const BatchCost& cost = model.cost;
  const int64_t in_flight =
      micro_batches_in_flight(rank.spec().micro_batches(), rank.layout().pp, rank.stage());
  Activations result;
  add_blocks(rank, model, result);
  if (rank.stage() == 0) result.blocks += rank.on_rank(model, cost.embedding);
  result.blocks *= in_flight;
  if (rank.last_stage()) result.head = rank.on_rank(model, cost.head + cost.head_backward);
  return result;
}

void add_training(RankComponents& rank) {
  Activations most;
  for (const RankModel* model : rank.trained()) {
    const Activations one = activations(rank, *model);
    if (one.peak() >= most.peak()) most = one;
  }
  rank.add({.name = kKeptForBackward.data(),
            .kind = ComponentKind::kActivations,
            .bytes = most.blocks,
            .needed = kWhenTraining,
            .scales = true,
            .in_step = true,
            .why = "kept for backward by the layers, per micro-batch in flight, as headroom's own "
                   "eager step keeps it"});
  const bool head = most.head >= most.recompute;
  const bool several = rank.spec().setup.checkpoint.kind == CheckpointKind::kEvery;
  rank.add(
      {.name = head ? "Logits and loss" : "Recomputed block",
       .kind = ComponentKind::kActivations,
       .bytes = std::max(most.head, most.recompute),
       .needed = kWhenTraining,
       .scales = true,
       .in_step = true,
       .why = head ? "logits, tensors that the loss keeps, and the first gradients of backward"
              : several
                  ? "activations dropped by checkpointing, computed again for one group of blocks"
                  : "activations dropped by checkpointing, computed again for one block"});
}

void add_experience(RankComponents& rank) {
  const int64_t early = experience_bytes(rank.spec(), /*while_generating=*/true);
  const int64_t whole = experience_bytes(rank.spec(), /*while_generating=*/false);
  rank.add({.name = "Tokens and mask",
            .kind = ComponentKind::kExperience,
            .bytes = early,
            .needed = kAlways,
            .scales = true,
            .why = "int64, of the whole batch"});
  rank.add({.name = "PPO scores",
            .kind = ComponentKind::kExperience,
            .bytes = whole - early,
            .needed = kWhenScoring | kWhenTraining,
            .scales = true,
            .why = "log-probabilities, values, rewards, advantages, returns per response token"});
}

void add_context(RankComponents& rank) {
  const int64_t workspace = cublas_workspace_bytes(rank.spec().card.compute_capability);
  rank.add({.name = "cuBLAS workspaces",
            .kind = ComponentKind::kContext,
            .bytes = workspace,
            .needed = kAlways,
            .resident = true,
            .why = "libtorch's default, one handle"});
  rank.add({.name = "cuBLAS workspace, backward",
            .kind = ComponentKind::kContext,
            .bytes = workspace,
            .needed = kWhenTraining,
            .in_step = true,
            .why = "autograd's thread has a handle of its own"});
  rank.add({.name = "NCCL buffers",
            .kind = ComponentKind::kContext,
            .bytes = nccl_bytes(rank.spec().num_gpus),
            .needed = kAlways,
            .resident = true,
            .basis = "assumed",
            .why = "as vLLM 0.19 found them taken; 0.5 to 1.6 GiB were seen elsewhere"});
  const Card& card = rank.spec().card;
  rank.add({.name = "CUDA context",
            .kind = ComponentKind::kContext,
            .bytes = card.context_bytes,
            .needed = kAlways,
            .resident = true,
            .basis = card.context_measured ? "measured" : "assumed",
            .why = "of the card table, headroom cards"});
}

}  // namespace

void add_activities(RankComponents& rank) {
  add_generation(rank);
  add_scoring(rank);
  add_training(rank);
  add_experience(rank);
  add_context(rank);
}

}  // namespace headroom
