// Activation checkpointing: a function whose saved tensors are not kept but computed again when
// backward comes to them.
//
// Note [Checkpointing by saved tensors]
// Rationale: what is computed again must give the same gradients, free as it goes, work inside
//   itself, and compute no more than what is needed. A backward of its own for each function, as
//   reentrant checkpointing has it, does the last three badly.
// Approach: as torch.utils.checkpoint does with use_reentrant=False. While the function runs,
//   everything it saves becomes an empty slot; its inputs are saved as a node would save them, by
//   whoever stands outside, so that the inputs of a checkpoint inside another are the other's
//   slots. The first slot that is asked for runs the function once more, with a graph that nobody
//   uses, under the same autocast and the same random numbers; its n-th save fills the n-th slot.
//   An exception ends it when the last slot that somebody still holds is filled. A slot gives its
//   tensor away and is empty again; a second backward over a kept graph computes again.
// Limits: the function must save the same tensors in the same order each time (held by number, type
//   and count of elements). One backward at a time uses a graph.
#pragma once

#include <functional>
#include <vector>

#include "model/attention.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/scope.h"
#include "train/vocabulary/checkpoint.h"

namespace headroom {

using TensorFunction = std::function<torch::Tensor(std::vector<torch::Tensor> inputs)>;

// Who hears, when a recomputation begins, that it does. Null, or one that returns null: nobody.
using RecomputeListener = std::function<ScopeListener*()>;

// function(inputs), computed again in backward. Without gradients it is called and nothing more.
torch::Tensor checkpointed(const TensorFunction& function, std::vector<torch::Tensor> inputs,
                           const RecomputeListener& listener = nullptr);

// Blocks in the groups of the setting (block_groups()); null where no block is computed again.
GroupRunner checkpointing_runner(const Checkpoint& setting, const RecomputeListener& listener);

// Scores and attention weights, computed again from queries, keys and values; these are kept in
// what the products are computed in, as they are without checkpointing.
AttentionRunner recomputing_core(const RecomputeListener& listener);

}  // namespace headroom
