// Shape letters: N tokens, I inputs, O outputs of a projection.
#include "train/techniques/fp8_linear.h"

#include <ATen/autocast_mode.h>

#include <limits>

#include "model/layers.h"

namespace headroom {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kForwardType = torch::kFloat8_e4m3fn;
constexpr auto kGradientType = torch::kFloat8_e5m2;
constexpr double kSmallestMagnitude = 1e-12;  // gives zeros a scale; torchao's value

double largest_code(at::ScalarType type) { return type == kForwardType ? 448 : 57344; }

// (..., width) -> (N, width).
Tensor as_matrix(const Tensor& codes) { return codes.view({-1, codes.size(-1)}); }

// Makes the codes (I, N).
Fp8Tensor transposed(const Fp8Tensor& matrix) {
  return {.codes = matrix.codes.t().contiguous(), .scale = matrix.scale};
}

// Converts (..., I) numbers to an (N, I) matrix.
Fp8Tensor matrix_of(const Tensor& numbers, at::ScalarType type) {
  Fp8Tensor matrix = to_fp8(numbers, type);
  matrix.codes = as_matrix(matrix.codes);
  return matrix;
}

Tensor forward_product(const Tensor& x, const Fp8Tensor& x_NI, const Tensor& weight_OI) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight_OI.size(0);
  const Tensor y_NO =
      fp8_product(x_NI, to_fp8(weight_OI, kForwardType), /*fast_accumulation=*/true);
  return at::_unsafe_view(y_NO, sizes);  // a separate tensor to autograd
}

class Fp8Product : public torch::autograd::Function<Fp8Product> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight_OI) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    Fp8Tensor x_NI = matrix_of(x, kForwardType);
    Tensor y = forward_product(x, x_NI, weight_OI);
    context->saved_data["sizes"] = x.sizes().vec();
    x_NI = transposed(x_NI);
    context->save_for_backward({x_NI.codes, x_NI.scale, weight_OI});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const Fp8Tensor x_IN = {.codes = saved[0], .scale = saved[1]};
    Fp8Tensor dy = matrix_of(gradients[0], kGradientType);
    Tensor dx, dweight;
    if (context->needs_input_grad(0)) {
      const Fp8Tensor weight_IO = to_fp8(saved[2].t(), kForwardType);
      dx = fp8_product(dy, weight_IO, /*fast_accumulation=*/false)
               .view(context->saved_data["sizes"].toIntVector());
    }
    if (context->needs_input_grad(1)) {
      dy = transposed(dy);
      dweight = fp8_product(dy, x_IN, /*fast_accumulation=*/false);
    }
    return {dx, dweight};
  }
};

class Fp8Linear final : public Linear {
 public:
  using Linear::Linear;
  Tensor forward(const Tensor& x) override { return with_bias(fp8_linear(x, weight)); }
};

// The layers inside attention and feed-forward.
const LayerFactory& layers_in_blocks() {
  static const LayerFactory kLayers = [] {
    LayerFactory layers = eager_layers();
    layers.linear = [](int64_t in, int64_t out, bool has_bias,
                       const LayerFactory::Options& options) -> Layer {
      return std::make_shared<Fp8Linear>(in, out, has_bias, options);
    };
    return layers;
  }();
  return kLayers;
}

}  // namespace

Fp8Tensor to_fp8(const Tensor& numbers, at::ScalarType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Fp8Tensor result;
  result.scale = at::linalg_vector_norm(numbers, kInfinity).to(torch::kFloat32).view({1});
  result.scale.clamp_min_(kSmallestMagnitude).div_(largest_code(type));
  result.codes = torch::empty(numbers.sizes(), numbers.options().dtype(type));
  at::div_out(result.codes, numbers, result.scale);
  return result;
}

Tensor fp8_product(const Fp8Tensor& a_MK, const Fp8Tensor& b_NK, bool fast_accumulation) {
  if (a_MK.codes.is_cuda()) {
    return at::_scaled_mm(a_MK.codes, b_NK.codes.t(), a_MK.scale, b_NK.scale, /*bias=*/{},
                          /*scale_result=*/{}, torch::kBFloat16, fast_accumulation);
  }
  const Tensor sums_MN = at::mm(a_MK.codes.to(torch::kFloat32), b_NK.codes.to(torch::kFloat32).t());
  return (sums_MN * (a_MK.scale * b_NK.scale)).to(torch::kBFloat16);
}

Tensor fp8_linear(const Tensor& x, const Tensor& weight) {
  if (torch::GradMode::is_enabled()) return Fp8Product::apply(x, weight);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return forward_product(x, matrix_of(x, kForwardType), weight);
}

const LayerFactory& fp8_layers() {
  static const LayerFactory kLayers = [] {
    LayerFactory layers = eager_layers();
    layers.feed_forward = [](const LayerFactory&, const ModelConfig& config,
                             const LayerFactory::Options& options) -> Layer {
      return eager_layers().feed_forward(layers_in_blocks(), config, options);
    };
    layers.attention = [](const LayerFactory&, const ModelConfig& config, Attention kind,
                          const Positions* positions,
                          const LayerFactory::Options& options) -> Layer {
      return eager_layers().attention(layers_in_blocks(), config, kind, positions, options);
    };
    return layers;
  }();
  return kLayers;
}

}  // namespace headroom
