#include "model/layers.h"

#include <cmath>

namespace headroom {
namespace {

// Normal with the given deviation, cut at three deviations, drawn on the weight's own device by the
// inverse of the cumulative distribution; never made on the host first. One weight at a time is
// drawn in FP32 and rounded to the type of the weights, so a seed gives one model in every type.
Tensor truncated_normal(at::IntArrayRef sizes, double deviation,
                        const torch::TensorOptions& options) {
  const double edge = std::erf(3 / std::sqrt(2.0));
  const Tensor drawn = torch::empty(sizes, options.dtype(torch::kFloat32));
  drawn.uniform_(-edge, edge).erfinv_().mul_(deviation * std::sqrt(2.0));
  return drawn.to(c10::typeMetaToScalarType(options.dtype()));
}

}  // namespace

double linear_deviation(int64_t in, int64_t out) {
  return std::sqrt(2.0 / static_cast<double>(in + out));
}

Linear::Linear(int64_t in, int64_t out, bool has_bias, const torch::TensorOptions& options) {
  weight =
      register_parameter("weight", truncated_normal({out, in}, linear_deviation(in, out), options));
  if (has_bias) bias = register_parameter("bias", torch::zeros({out}, options));
}

Linear::Linear(const Tensor& shared_weight) {
  weight = register_parameter("weight", shared_weight);
}

Tensor Linear::forward(const Tensor& x) {
  return with_bias(torch::einsum("...i,oi->...o", {x, weight}));
}

Tensor Linear::with_bias(const Tensor& product) const {
  return bias.defined() ? product + bias.to(product.scalar_type()) : product;
}

Embedding::Embedding(int64_t vocab_size, int64_t d_model, double deviation,
                     const torch::TensorOptions& options) {
  weight =
      register_parameter("weight", truncated_normal({vocab_size, d_model}, deviation, options));
}

Tensor Embedding::forward(const Tensor& tokens_BS) { return weight.index({tokens_BS}); }

RmsNorm::RmsNorm(int64_t d_model, double eps, const torch::TensorOptions& options) : eps_(eps) {
  weight = register_parameter("weight", torch::ones({d_model}, options));
}

Tensor RmsNorm::forward(const Tensor& x_BSD) {
  const auto dtype = x_BSD.scalar_type();
  Tensor x = x_BSD.to(at::promoteTypes(dtype, torch::kFloat32));
  const Tensor inverse_rms_BS1 = torch::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + eps_);
  x = x * inverse_rms_BS1;
  return (weight * x).to(dtype);
}

SwiGlu::SwiGlu(const LayerFactory& layers, int64_t d_model, int64_t d_ff,
               const torch::TensorOptions& options) {
  w1_ = register_module("w1", layers.linear(d_model, d_ff, /*has_bias=*/false, options));
  w2_ = register_module("w2", layers.linear(d_ff, d_model, /*has_bias=*/false, options));
  w3_ = register_module("w3", layers.linear(d_model, d_ff, /*has_bias=*/false, options));
}

Tensor SwiGlu::forward(const Tensor& x_BSD) {
  const auto silu = [](const Tensor& x) { return x * torch::sigmoid(x); };
  // Gate first, then the product, each in its own statement, so that a tensor that backward does
  // not need is freed at the same point as in the reference.
  Tensor gate_BSF = silu(w1_->forward(x_BSD));
  gate_BSF = gate_BSF * w3_->forward(x_BSD);
  return w2_->forward(gate_BSF);
}

RotaryTable::RotaryTable(int64_t context_length, int64_t head_dim, double theta,
                         torch::Device device) {
  const auto options = torch::dtype(torch::kFloat32).device(device);
  const Tensor exponents_R = torch::arange(0, head_dim, 2, options) / static_cast<double>(head_dim);
  const Tensor frequencies_R = torch::pow(theta, -exponents_R);
  const Tensor positions_S = torch::arange(context_length, options);
  const Tensor angles_SR = torch::outer(positions_S, frequencies_R);
  cos_SR_ = torch::cos(angles_SR);
  sin_SR_ = torch::sin(angles_SR);
}

Tensor RotaryTable::rotate(const Tensor& x_BHSK, int64_t first_position) const {
  const int64_t positions = x_BHSK.size(-2);
  return headroom::rotate(x_BHSK, cos_SR_.narrow(0, first_position, positions),
                          sin_SR_.narrow(0, first_position, positions));
}

Tensor rotate(const Tensor& x_BHSK, const Tensor& cos_SR, const Tensor& sin_SR) {
  const Tensor pairs = x_BHSK.unflatten(-1, {x_BHSK.size(-1) / 2, 2});
  const Tensor even_BHSR = pairs.select(-1, 0);
  const Tensor odd_BHSR = pairs.select(-1, 1);
  const Tensor first_BHSR = cos_SR * even_BHSR - sin_SR * odd_BHSR;
  const Tensor second_BHSR = sin_SR * even_BHSR + cos_SR * odd_BHSR;
  return torch::cat({first_BHSR, second_BHSR}, -1);
}

}  // namespace headroom
