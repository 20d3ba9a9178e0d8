// Activation checkpointing: a function's saved tensors are not kept but recomputed in backward.
//
// Note [Checkpointing by saved tensors]
// Rationale: a recomputation must give the same gradients, free tensors as it goes, allow nesting,
//   and compute no more than needed. Reentrant checkpointing, with a separate backward for each
//   function, does the last three badly.
// Approach: as torch.utils.checkpoint with use_reentrant=False. While the function runs, everything
//   it saves becomes an empty slot. Its inputs are saved by the surrounding SavedTensors, as a
//   node's saves are, so the inputs of a nested checkpoint are slots of the outer one. The first
//   request for a slot reruns the function with a graph that nothing uses, under the same autocast
//   and random numbers; its n-th save fills the n-th slot. An exception ends the rerun when the
//   last slot still held is filled. A slot gives its tensor away and is empty again; a second
//   backward over a kept graph recomputes again.
// Limits: the function must save the same tensors in the same order each time (checked by number,
//   type and element count). One backward at a time uses a graph.
#pragma once

#include <functional>
#include <vector>

#include "model/attention.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/hooks/scope.h"
#include "train/settings/vocabulary/checkpoint.h"

namespace headroom {

using TensorFunction = std::function<torch::Tensor(std::vector<torch::Tensor> inputs)>;

// Gives the listener for the scope of a recomputation. May be null, or return null.
using RecomputeListener = std::function<ScopeListener*()>;

// function(inputs), recomputed in backward. Without gradients it is only called.
torch::Tensor checkpointed(const TensorFunction& function, std::vector<torch::Tensor> inputs,
                           const RecomputeListener& listener = nullptr);

// Recomputes blocks in the groups of the setting (block_groups()); null if there are none.
GroupRunner checkpointing_runner(const Checkpoint& setting, const RecomputeListener& listener);

// Recomputes scores and attention weights from queries, keys and values, which are kept in the
// compute type, as without checkpointing.
AttentionRunner recomputing_core(const RecomputeListener& listener);

}  // namespace headroom
