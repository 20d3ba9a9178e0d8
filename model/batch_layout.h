// The tokens of one forward pass that is not made of rows of equal length.
//
// Note [A pass is data]
// Rationale: generation appends to a cache; dynamic batches compute sequences of any length without
//   padding. Both depend only on token positions, which only the rotation and attention use.
// Approach: tokens are (1, T): the spans of the sequences, concatenated. Attention reads the
//   pass that is set on its transformer, as it reads the rotary table. Block runners, checkpointing
//   and offload see one row of T tokens.
//   Without a pass nothing changes, down to the allocator's last event.
// Limits: recomputation in backward reads the pass too, so a pass stays set until backward has
//   ended. A cache is for passes without gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers.h"
#include "model/torch.h"

namespace headroom {

class KvCache;

// Tokens of one sequence that one pass computes, at positions [first, first + length).
struct SequenceSpan {
  int64_t length = 0;
  int64_t first = 0;  // earlier tokens of the sequence, in the cache
  int64_t row = 0;    // row of the sequence in the cache
};

struct BatchLayout {
  std::vector<SequenceSpan> spans;
  Tensor positions_T;        // int64, one per token
  Tensor outputs_N;          // int64: the tokens to compute the head for; undefined: all
  KvCache* cache = nullptr;  // cache to append to; null: no earlier tokens, nothing is kept

  int64_t tokens() const;
  // True if all spans have one length and one first position: they form a batch.
  bool even() const;
  // True if every span is the next token of a sequence in the cache.
  bool decodes() const;
};

// Whole sequences, concatenated, without a cache.
BatchLayout packed_pass(const std::vector<int64_t>& lengths, torch::Device device);

// Throws c10::Error if there is no span or an empty one. outputs_N stays undefined.
BatchLayout make_pass(std::vector<SequenceSpan> spans, torch::Device device,
                      KvCache* cache = nullptr);

// State of a transformer that its attentions read.
struct Positions {
  RotaryTable rotary;
  const BatchLayout* pass = nullptr;  // null: rows of equal length, all from position 0
  Tensor cos_TR, sin_TR;              // for the pass's tokens
  int64_t layer = 0;                  // layer that is running, in a pass with a cache

  // Rotates x to its positions.
  Tensor rotate(const Tensor& x_BHSK) const;
};

}  // namespace headroom
