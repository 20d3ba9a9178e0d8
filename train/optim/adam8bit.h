// AdamW whose moments are kept in 8 bits, block by block (Note [Block-wise dynamic 8 bit] in
// train/optim/dynamic_map.h), one implementation:
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   p -= lr * decay * p
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// m and v are what is stored, decoded; the update reads them before they are stored again. Two
// bytes of state per parameter, and a scale (4 bytes) for every 256 of each moment. Tensors of
// fewer than 4096 elements keep FP32 moments.
#pragma once

#include <memory>
#include <vector>

#include "train/optim/dynamic_map.h"
#include "train/optim/optimizer.h"

namespace headroom {

struct Adam8bitOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  // Elements of the tensors that the parameters are whole blocks of; none: they are whole.
  std::vector<int64_t> whole_numels = {};
};

// Note [Never decoded whole]
// Rationale: 8-bit states that are decoded tensor by tensor need, for a moment, several FP32 copies
//   of the largest tensor: for a large vocabulary more than the states themselves.
// Approach: a tensor is updated in chunks of kAdam8bitChunk elements (train/optim/table.h), one
//   after the other: what is decoded at once is at most that, whatever the tensor's size.
//   Temporaries are 13 bytes per element of a chunk: m, v, the codes as indices (or the update),
//   and which gradients are not finite.
// Limits: bitsandbytes' own kernel decodes in registers and has no temporaries. An element whose
//   gradient is NaN or infinite forgets its moments and moves by its decay alone, as there; v that
//   overflows FP32 spoils its block of 256 and no other.
class Adam8bit : public Optimizer {
 public:
  Adam8bit(std::vector<torch::Tensor> parameters, const Adam8bitOptions& options);

  // By kind, as in train/optim/table.cpp: m, v (bytes; FP32 where the tensor is small), the scales
  // of m and of v (none there), then the maps.
  std::vector<torch::Tensor> state() const override;

 private:
  // Whole blocks of one parameter, or its last one that is not full. Views.
  struct Chunk {
    torch::Tensor p, g;              // flat
    torch::Tensor m, v;              // flat, bytes
    torch::Tensor m_scale, v_scale;  // (blocks, 1)
  };

  void update() override;
  void make_state(int64_t updates) override;
  void update_one(size_t i);
  void update_small(size_t i);
  void update_chunk(const Chunk& chunk) const;
  void move(const torch::Tensor& p, const torch::Tensor& m, const torch::Tensor& v) const;

  Adam8bitOptions options_;
  std::shared_ptr<const DynamicMaps> maps_;
  std::vector<torch::Tensor> m_, v_, m_scale_, v_scale_;
};

}  // namespace headroom
