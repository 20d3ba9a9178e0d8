// scaled_dot_product_attention with shapes for tensors, kernel by kernel. No torch here.
#pragma once

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/row_builder.h"

namespace headroom {

struct AttentionDevice {
  AttentionKernel kernel = AttentionKernel::kMemoryEfficient;
  // For the queries of a decode, which see all keys and have no backward.
  AttentionKernel of_decode = AttentionKernel::kMemoryEfficient;
  // For queries under a mask, also without a backward.
  AttentionKernel of_later = AttentionKernel::kMemoryEfficient;
  int64_t multiprocessors = 132;  // the flash kernel splits the keys where they are not all busy
};

// Causal; k and v may have fewer heads than q.
ShapeTensor scaled_dot_product_attention(const AttentionDevice& device, const ShapeTensor& q_BHSK,
                                         const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK);

// The queries of a decode: each sees all keys, or those that a mask says. As many heads.
ShapeTensor decoding_attention(const AttentionDevice& device, const ShapeTensor& q_BGSK,
                               const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK);

// Queries that stand behind the first keys, under a mask; k and v may have fewer heads than q.
ShapeTensor later_attention(const AttentionDevice& device, const ShapeTensor& q_BHSK,
                            const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK);

// sdpa_math.cpp: libtorch's math kernel, which is no kernel but operations.
ShapeTensor math_attention(const ShapeTensor& q_BHSK, const ShapeTensor& k_BGTK,
                           const ShapeTensor& v_BGTK, bool causal);

}  // namespace headroom
