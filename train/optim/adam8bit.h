// AdamW with moments in 8 bits, block by block (Note [Block-wise dynamic 8 bit] in
// train/optim/dynamic_map.h), one implementation:
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   p -= lr * decay * p
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// m and v are decoded from storage; the update reads them before they are stored again. Two bytes
// of state per parameter, and a scale (4 bytes) for every 256 of each moment. Tensors of fewer than
// 4096 elements keep FP32 moments.
#pragma once

#include <memory>
#include <vector>

#include "train/kernels/operations/compiled_operation.h"
#include "train/optim/dynamic_map.h"
#include "train/optim/optimizer.h"

namespace headroom {

struct Adam8bitOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  // Elements of the whole tensors if the parameters are blocks of them; empty: they are whole.
  std::vector<int64_t> whole_numels = {};
  OperationPtr compiled = nullptr;  // a chunk's update; on a CPU up to the encoding
};

// Note [Never decoded whole]
// Rationale: decoding 8-bit states tensor by tensor needs several temporary FP32 copies of the
//   largest tensor: with a large vocabulary more than the states themselves.
// Approach: a tensor is updated in chunks of kAdam8bitChunk elements (train/optim/table.h), one
//   after another, which bounds the decoded memory for any tensor size. Temporaries are 13 bytes
//   per element of a chunk: m, v, the codes as indices (or the update), and a mask of the
//   non-finite gradients. A compiled update (Note [Compiled operations]) has none on a card; on a
//   CPU it has m and v of kCompiled8bitChunk elements, which a core's cache holds.
// Limits: bitsandbytes' own kernel decodes in registers and has no temporaries. As there, an
//   element with a NaN or infinite gradient loses its moments and moves only by its decay; a v that
//   overflows FP32 spoils only its own block of 256.
class Adam8bit : public Optimizer {
 public:
  Adam8bit(std::vector<torch::Tensor> parameters, const Adam8bitOptions& options);

  // By kind, as in train/optim/table.cpp: m, v (bytes; FP32 for small tensors), the scales of m and
  // of v (none for small tensors), then the maps.
  std::vector<torch::Tensor> state() const override;

 private:
  // Whole blocks of one parameter, or its partial last block. Views.
  struct Chunk {
    torch::Tensor p, g;              // flat
    torch::Tensor m, v;              // flat, bytes
    torch::Tensor m_scale, v_scale;  // (blocks, 1)
  };

  void update() override;
  void make_state(int64_t updates) override;
  void update_one(size_t i);
  void update_small(size_t i);
  int64_t chunk_length() const;
  void update_chunk(const Chunk& chunk) const;
  bool update_compiled(const Chunk& chunk) const;
  double keep() const { return 1 - options_.learning_rate * options_.weight_decay; }
  double rate() const;        // over m's correction of bias
  double correction() const;  // of sqrt(v)
  void move(const torch::Tensor& p, const torch::Tensor& m, const torch::Tensor& v) const;

  Adam8bitOptions options_;
  std::shared_ptr<const DynamicMaps> maps_;
  std::vector<torch::Tensor> m_, v_, m_scale_, v_scale_;
};

}  // namespace headroom
