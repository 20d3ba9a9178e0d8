// The transformer's layers other than attention, each as the assignment's operation sequence: one
// ATen operation per line, so that its memory can be counted line by line.
//
// Shape suffixes used in model/, train/ and profiling/theory:
//   B batch   S positions   T key positions   D d_model   F d_ff   V vocabulary
//   H query heads   G key/value heads   K head dimension   R = K / 2 rotary pairs
#pragma once

#include "model/layer_factory.h"
#include "model/torch.h"

namespace headroom {

// The standard deviation of the weight of a Linear: variance 2 / (in + out).
double linear_deviation(int64_t in, int64_t out);

// y = x W^T, or x W^T + b. Weight (out, in): truncated normal; a bias begins at 0.
class Linear : public LayerModule {
 public:
  Linear(int64_t in, int64_t out, bool has_bias, const torch::TensorOptions& options);
  explicit Linear(const Tensor& shared_weight);  // of another layer, no bias
  Tensor forward(const Tensor& x) override;      // (..., in) -> (..., out)

  Tensor weight, bias;

 protected:
  // Adds the bias in the type of the product.
  Tensor with_bias(const Tensor& product) const;
};

// Row lookup in a (vocabulary, d_model) table, by indexing.
class Embedding : public LayerModule {
 public:
  // deviation: of the numbers that the table begins with.
  Embedding(int64_t vocab_size, int64_t d_model, double deviation,
            const torch::TensorOptions& options);
  Tensor forward(const Tensor& tokens_BS) override;  // (B, S) int64 -> (B, S, D)

  Tensor weight;
};

// Root-mean-square norm (Zhang and Sennrich 2019, eq. 4), computed in FP32; FP64 stays FP64.
class RmsNorm : public LayerModule {
 public:
  RmsNorm(int64_t d_model, double eps, const torch::TensorOptions& options);
  Tensor forward(const Tensor& x_BSD) override;

  Tensor weight;

 private:
  double eps_;
};

// SwiGLU feed-forward (Shazeer 2020): w2(silu(w1 x) * w3 x).
class SwiGlu : public LayerModule {
 public:
  SwiGlu(const LayerFactory& layers, int64_t d_model, int64_t d_ff,
         const torch::TensorOptions& options);
  Tensor forward(const Tensor& x_BSD) override;

 private:
  Layer w1_, w2_, w3_;
};

// Rotary positions (Su et al. 2021): pairs of even and odd elements are rotated by an angle that
// grows with the position. FP32 tables (context, R), shared by every block. The rotated halves are
// concatenated, not interleaved back: queries and keys are permuted alike, so scores are unchanged.
// The output is always FP32.
Tensor rotate(const Tensor& x_BHSK, const Tensor& cos_SR, const Tensor& sin_SR);

class RotaryTable {
 public:
  RotaryTable() = default;
  RotaryTable(int64_t context_length, int64_t head_dim, double theta, torch::Device device);
  // Same shape; x_BHSK stands at positions [first_position, first_position + S).
  Tensor rotate(const Tensor& x_BHSK, int64_t first_position = 0) const;
  const Tensor& cos() const { return cos_SR_; }
  const Tensor& sin() const { return sin_SR_; }

 private:
  Tensor cos_SR_, sin_SR_;
};

}  // namespace headroom
