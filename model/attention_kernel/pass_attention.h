// Attention over the tokens of a pass: within each sequence, and over its cached tokens.
#pragma once

#include <functional>

#include "model/attention_kernel/attention_kernel.h"
#include "model/batch_layout.h"
#include "model/torch.h"

namespace headroom {

// Attention over whole sequences, (B, H, S, K) and fewer key heads, by the kernel of --attention.
using WholeAttention =
    std::function<Tensor(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK)>;

// Note [Kernel of a pass]
// Rationale: the kernels take different inputs. Flash takes no mask, and the math kernel repeats
//   the heads of grouped keys. A decoded token needs a mask if the sequences differ in length, but
//   no repetition: the query heads of one group stand in the place of its queries.
// Approach: `whole`, the kernel of --attention, computes a span that begins its sequence.
//   Spans of one length run at once, others one after another. Later queries are computed under
//   a mask: operation by operation if --attention is eager, else by scaled_dot_product_attention
//   with libtorch's choice, for any other --attention. A decode is one call for all sequences.
// Limits: libtorch has no kernel that reads a paged cache or 8-bit codes: the keys and values of
//   one layer are gathered, or decoded, for the length of one call.

// (1, H, T, K), (1, G, T, K) -> (1, T, H * K). Appends to the pass's cache first.
Tensor attend_pass(const BatchLayout& pass, int64_t layer, Attention kind,
                   const WholeAttention& whole, const Tensor& q_1HTK, const Tensor& k_1GTK,
                   const Tensor& v_1GTK);

}  // namespace headroom
