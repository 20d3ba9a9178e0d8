// Attention over the tokens of a pass: within each sequence, and with what its cache holds.
#pragma once

#include <functional>

#include "model/attention_kernel.h"
#include "model/pass.h"
#include "model/torch.h"

namespace headroom {

// Of whole sequences, (B, H, S, K) and fewer key heads, by the kernel of --attention.
using WholeAttention =
    std::function<Tensor(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK)>;

// Note [Which kernel computes a pass]
// Rationale: the kernels differ in what they take. Flash takes no mask, and the math kernel repeats
//   the heads of grouped keys; a token that is decoded needs a mask where sequences are of unequal
//   length, and repeats nothing: the query heads of one group stand in the place of its queries.
// Approach: a stretch that begins its sequence is computed by `whole`, which is what --attention
//   names; stretches of one length at once, others one after another. Queries that come later are
//   computed, under a mask, operation by operation where --attention is eager, and else by
//   scaled_dot_product_attention with libtorch's choice, whatever kernel --attention names. Those
//   of a decode are one call for all sequences.
// Limits: libtorch has no kernel that reads a paged cache or 8-bit codes: the keys and values of
//   one layer are gathered, or decoded, for the length of one call.

// (1, H, T, K), (1, G, T, K) -> (1, T, H * K). What is new is appended to the pass's cache first.
Tensor attend_pass(const Pass& pass, int64_t layer, Attention kind, const WholeAttention& whole,
                   const Tensor& q_1HTK, const Tensor& k_1GTK, const Tensor& v_1GTK);

}  // namespace headroom
