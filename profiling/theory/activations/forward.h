// Memory of a forward without gradients at its fullest instants. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"

namespace headroom {

// The possible fullest instants. One of them is alive at a time.
inline constexpr const char* kForwardAttention = "forward: softmax";
inline constexpr const char* kForwardFeedForward = "forward: feed-forward";
inline constexpr const char* kForwardFp8 = "forward: FP8 product";
inline constexpr const char* kForwardHead = "forward: logits";

// Note [Temporaries of a forward]
// Rationale: under no_grad nothing is kept, so the peak of a scoring or prefill pass is states plus
//   the fullest instant inside one block or at the output head.
// Approach: one group of rows per instant: the tensors in locals of model/ at that statement, and
//   the operation's own. The largest group is the peak.
// Limits: a fused scaled_dot_product_attention is never the fullest instant if d_ff >= 2 d_model,
//   so with flash attention only the feed-forward and the head are listed, unless libtorch's math
//   kernel runs. On the CPU, under autocast, a product's cast weight is added.
std::vector<Row> forward_rows(const RunSpec& spec);

// The largest of the groups, in bytes.
int64_t forward_temporaries(const RunSpec& spec);

}  // namespace headroom
