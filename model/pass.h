// What the tokens of one forward pass are, where they are not rows of equal length.
//
// Note [A pass is data]
// Rationale: generation appends to a cache, dynamic batches compute sequences of any length without
//   padding. Both are a question of where tokens stand, which only positions and attention ask.
// Approach: tokens are (1, T), stretches of sequences one behind the other. Attention reads the
//   pass that is set on its transformer, as it reads the rotary table. Block runners, checkpointing
//   and offload see one row of T tokens.
//   Without a pass everything is as it ever was, to the allocator's last event.
// Limits: what backward computes again asks the pass too, so a pass stays set until backward has
//   ended. A cache is for passes without gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers.h"
#include "model/torch.h"

namespace headroom {

class KvCache;

// Tokens of one sequence that go through together, at positions [first, first + length).
struct Stretch {
  int64_t length = 0;
  int64_t first = 0;  // tokens before it, which are in the cache
  int64_t row = 0;    // of the sequence in the cache
};

struct Pass {
  std::vector<Stretch> stretches;
  Tensor positions_T;        // int64, of every token
  Tensor outputs_N;          // int64: which tokens the head is asked for; undefined: all
  KvCache* cache = nullptr;  // what it is appended to; null: nothing came before, nothing is kept

  int64_t tokens() const;
  // Whether all stretches have one length and one first position: then they are a batch.
  bool even() const;
  // Whether every stretch is the next token of a sequence in the cache.
  bool decodes() const;
};

// Whole sequences one behind the other, without a cache.
Pass packed_pass(const std::vector<int64_t>& lengths, torch::Device device);

// Throws c10::Error where a stretch is empty. outputs_N is left undefined.
Pass make_pass(std::vector<Stretch> stretches, torch::Device device, KvCache* cache = nullptr);

// What a transformer lends its attentions.
struct Positions {
  RotaryTable rotary;
  const Pass* pass = nullptr;  // null: rows of equal length, all from position 0
  Tensor cos_TR, sin_TR;       // of the pass's tokens
  int64_t layer = 0;           // whose turn it is, of a pass with a cache

  // Rotated to where it stands.
  Tensor rotate(const Tensor& x_BHSK) const;
};

}  // namespace headroom
