// Components that phases make on a rank and free: cache, activations, experience; the CUDA context.
#include <algorithm>

#include "cards/cublas_workspace.h"
#include "plan/cost/library_bytes.h"
#include "plan/rlhf/experience.h"
#include "plan/rlhf/rank_book.h"

namespace headroom {
namespace {

using RankModel = RankBook::Model;

int64_t forward_block(const RankBook& book, const RankModel& model, const BatchCost& cost) {
  return std::max(book.on_rank(model, cost.forward_softmax),
                  book.on_rank(model, cost.forward_feed_forward));
}

void add_generation(RankBook& book) {
  if (!book.spec().generates()) return;
  book.add({.name = "KV cache",
            .kind = ComponentKind::kKvCache,
            .bytes = kv_cache_bytes(book.spec(), book.stage()),
            .needed = kWhenGenerating,
            .scales = true,
            .why = "2 x layers x key/value heads x head dimension x bytes x tokens"});
  const RankModel& actor = book.models().actor;
  const int64_t vocabulary = shard(actor.elements.config.vocab_size, book.layout().tp);
  constexpr int64_t kSampled = 8;  // FP32 logits and probabilities
  const int64_t sampling = book.last_stage() ? kSampled * book.spec().batch_size * vocabulary : 0;
  const int64_t prefill = forward_block(book, actor, book.models().prefill);
  book.add({.name = "Prefill and sampling",
            .kind = ComponentKind::kActivations,
            .bytes = std::max(prefill, sampling),
            .needed = kWhenGenerating,
            .scales = true,
            .why = "temporaries of a micro-batch's prompts, or logits of one token per sequence"});
}

void add_scoring(RankBook& book) {
  if (!book.spec().scores()) return;
  book.add({.name = "Activations (scoring)",
            .kind = ComponentKind::kActivations,
            .bytes = book.largest(book.all(),
                                  [&](const RankModel& model) {
                                    const int64_t head =
                                        book.last_stage()
                                            ? book.on_rank(model, model.cost.forward_head)
                                            : 0;
                                    return std::max(forward_block(book, model, model.cost), head);
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
void add_blocks(const RankBook& book, const RankModel& model, Activations& result) {
  const Checkpoint& checkpoint = book.spec().setup.checkpoint;
  const BatchCost& cost = model.cost;
  const int64_t whole = book.on_rank(model, cost.block_kept(checkpoint.kind));
  const int64_t output = book.on_rank(model, cost.block_output());
  if (checkpoint.kind == CheckpointKind::kSelective) {
    result.recompute = book.on_rank(model, cost.core_recomputed);
  }
  for (const BlockGroup& group : block_groups(checkpoint, book.elements_here(model).layers)) {
    if (!group.recomputed) {
      result.blocks += group.count() * whole;
      continue;
    }
    result.blocks += book.on_rank(model, cost.stream);
    const int64_t again =
        book.on_rank(model, cost.block_kept() - cost.block_output()) + book.block_casts(model);
    result.recompute =
        std::max(result.recompute, group.count() * again + (group.count() - 1) * output);
  }
}

Activations activations(const RankBook& book, const RankModel& model) {
  const BatchCost& cost = model.cost;
  const int64_t in_flight =
      micro_batches_in_flight(book.spec().micro_batches(), book.layout().pp, book.stage());
  Activations result;
  add_blocks(book, model, result);
  if (book.stage() == 0) result.blocks += book.on_rank(model, cost.embedding);
  result.blocks *= in_flight;
  if (book.last_stage()) result.head = book.on_rank(model, cost.head + cost.head_backward);
  return result;
}

void add_training(RankBook& book) {
  Activations most;
  for (const RankModel* model : book.trained()) {
    const Activations one = activations(book, *model);
    if (one.peak() >= most.peak()) most = one;
  }
  book.add({.name = kKeptForBackward.data(),
            .kind = ComponentKind::kActivations,
            .bytes = most.blocks,
            .needed = kWhenTraining,
            .scales = true,
            .in_step = true,
            .why = "kept for backward by the layers, per micro-batch in flight, as headroom's own "
                   "eager step keeps it"});
  const bool head = most.head >= most.recompute;
  const bool several = book.spec().setup.checkpoint.kind == CheckpointKind::kEvery;
  book.add(
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

void add_experience(RankBook& book) {
  const int64_t early = experience_bytes(book.spec(), /*while_generating=*/true);
  const int64_t whole = experience_bytes(book.spec(), /*while_generating=*/false);
  book.add({.name = "Tokens and mask",
            .kind = ComponentKind::kExperience,
            .bytes = early,
            .needed = kAlways,
            .scales = true,
            .why = "int64, of the whole batch"});
  book.add({.name = "PPO scores",
            .kind = ComponentKind::kExperience,
            .bytes = whole - early,
            .needed = kWhenScoring | kWhenTraining,
            .scales = true,
            .why = "log-probabilities, values, rewards, advantages, returns per response token"});
}

void add_context(RankBook& book) {
  const int64_t workspace = cublas_workspace_bytes(book.spec().card.compute_capability);
  book.add({.name = "cuBLAS workspaces",
            .kind = ComponentKind::kContext,
            .bytes = workspace,
            .needed = kAlways,
            .resident = true,
            .why = "libtorch's default, one handle"});
  book.add({.name = "cuBLAS workspace, backward",
            .kind = ComponentKind::kContext,
            .bytes = workspace,
            .needed = kWhenTraining,
            .in_step = true,
            .why = "autograd's thread has a handle of its own"});
  book.add({.name = "NCCL buffers",
            .kind = ComponentKind::kContext,
            .bytes = nccl_bytes(book.spec().num_gpus),
            .needed = kAlways,
            .resident = true,
            .basis = "assumed",
            .why = "as vLLM 0.19 found them taken; 0.5 to 1.6 GiB were seen elsewhere"});
  const Card& card = book.spec().card;
  book.add({.name = "CUDA context",
            .kind = ComponentKind::kContext,
            .bytes = card.context_bytes,
            .needed = kAlways,
            .resident = true,
            .basis = card.context_measured ? "measured" : "assumed",
            .why = "of the card table, headroom cards"});
}

}  // namespace

void add_activities(RankBook& book) {
  add_generation(book);
  add_scoring(book);
  add_training(book);
  add_experience(book);
  add_context(book);
}

}  // namespace headroom
