// The tokens of one forward, with shapes for tensors, and attention over them. Read beside
// model/batch_layout.h and model/attention_kernel/pass_attention.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/attention_kernel/attention_kernel.h"
#include "profiling/theory/rehearsal/operations/sdpa.h"
#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

class ShapeCache;

// Like SequenceSpan: tokens of one sequence that go through together.
struct RehearsedSpan {
  int64_t length = 0;
  int64_t first = 0;
  int64_t row = 0;
};

struct ShapeLayout {
  std::vector<RehearsedSpan> spans;
  ShapeTensor positions_T;
  ShapeTensor outputs_N;        // undefined: all
  ShapeCache* cache = nullptr;  // null: nothing came before, nothing is kept

  int64_t tokens() const;
  bool even() const;
  bool decodes() const;
};

// Whole sequences one behind the other.
ShapeLayout packed_shape_layout(Run& run, const std::vector<int64_t>& lengths);
ShapeLayout make_shape_layout(Run& run, std::vector<RehearsedSpan> spans,
                              ShapeCache* cache = nullptr);

// Like WholeAttention: of sequences from their first token on.
using WholeShapeAttention = std::function<ShapeTensor(
    const ShapeTensor& q_BHSK, const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK)>;

// The inputs of attention over a pass.
struct PassAttention {
  Attention kind = Attention::kEager;
  AttentionDevice device;
  WholeShapeAttention whole;
};

ShapeTensor attend_shape_pass(const ShapeLayout& pass, const PassAttention& attention,
                              const ShapeTensor& q_1HTK, const ShapeTensor& k_1GTK,
                              const ShapeTensor& v_1GTK);

}  // namespace headroom
