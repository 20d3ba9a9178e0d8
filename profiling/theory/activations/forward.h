// What a forward without gradients holds at its fullest instants. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"

namespace headroom {

// The instants that can be the fullest. One of them is alive at a time.
inline constexpr const char* kForwardAttention = "forward: softmax";
inline constexpr const char* kForwardFeedForward = "forward: feed-forward";
inline constexpr const char* kForwardFp8 = "forward: FP8 product";
inline constexpr const char* kForwardHead = "forward: logits";

// Note [Temporaries of a forward]
// Rationale: under no_grad nothing is kept, so the peak of a scoring or prefill pass is states plus
//   the fullest instant inside one block or at the output head.
// Approach: one group of rows per instant: the tensors that model/ holds in locals at that
//   statement, and what the operation itself makes. The largest group is the peak.
// Limits: a fused scaled_dot_product_attention is never the fullest instant where d_ff >= 2
//   d_model, so with flash attention only the feed-forward and the head are listed, unless it runs
//   libtorch's math kernel. On the CPU, under autocast, a product's cast weight comes on top.
std::vector<Row> forward_rows(const RunSpec& spec);

// The largest of the groups, in bytes.
int64_t forward_temporaries(const RunSpec& spec);

}  // namespace headroom
