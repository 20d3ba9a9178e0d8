// Letters of shapes: N tokens, I inputs, O outputs of a matrix.
#include "train/parallel/waiting_gradients.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "model/layers.h"

namespace headroom {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

namespace {

constexpr const char* kWaiting = "waiting";
constexpr const char* kWeight = "weight";

void keep(AutogradContext* context, WaitingGradients* waiting, const Tensor& weight) {
  context->saved_data[kWaiting] = reinterpret_cast<int64_t>(waiting);
  context->saved_data[kWeight] = weight;
}

WaitingGradients& waiting_kept(AutogradContext* context) {
  return *reinterpret_cast<WaitingGradients*>(  // NOLINT: as kept
      context->saved_data[kWaiting].toInt());
}

// (..., width) as (1, N, width): einsum multiplies by one batch.
Tensor as_batch(const Tensor& x) { return x.reshape({1, -1, x.size(-1)}); }

// As autograd accumulates it: taken over where it lies as the weight does, else copied or added.
void accumulate(const Tensor& weight, Tensor gradient) {
  if (gradient.scalar_type() != weight.scalar_type()) gradient = gradient.to(weight.scalar_type());
  tensor_list one;
  one.push_back(std::move(gradient));
  (*torch::autograd::impl::grad_accumulator(weight))(std::move(one));
}

class WaitingLinear final : public Linear {
 public:
  WaitingLinear(std::shared_ptr<WaitingGradients> waiting, int64_t in, int64_t out,
                const torch::TensorOptions& options)
      : Linear(in, out, options), waiting_(std::move(waiting)) {}

  Tensor forward(const Tensor& x) override {
    return torch::GradMode::is_enabled() ? waiting_->product(x, weight) : Linear::forward(x);
  }

 private:
  std::shared_ptr<WaitingGradients> waiting_;
};

class WaitingNorm final : public RmsNorm {
 public:
  WaitingNorm(std::shared_ptr<WaitingGradients> waiting, int64_t d_model, double eps,
              const torch::TensorOptions& options)
      : RmsNorm(d_model, eps, options), waiting_(std::move(waiting)) {}

  Tensor forward(const Tensor& x_BSD) override {
    if (!torch::GradMode::is_enabled()) return RmsNorm::forward(x_BSD);
    const Own own(*this);
    weight = waiting_->seen(weight);
    return RmsNorm::forward(x_BSD);
  }

 private:
  // Gives the norm its weight back, also where a recomputation ends in the middle.
  class Own {
   public:
    explicit Own(WaitingNorm& norm) : norm_(norm), weight_(norm.weight) {}
    ~Own() { norm_.weight = weight_; }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;

   private:
    WaitingNorm& norm_;
    Tensor weight_;
  };

  std::shared_ptr<WaitingGradients> waiting_;
};

}  // namespace

// Both in what they are multiplied in: autocast's cast of x has a node of its own before this one,
// as it has before einsum's. The weight is in no graph: nothing goes on to it in backward, and a
// parameter's node calls its hooks also where no gradient has come. of: the parameter.
struct WaitingGradients::Product : torch::autograd::Function<Product> {
  struct Of {
    WaitingGradients* waiting;
    Tensor parameter;
  };

  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight_OI,
                        const Of& of) {
    keep(context, of.waiting, of.parameter);
    context->save_for_backward({x, weight_OI});
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = weight_OI.size(0);
    // A tensor of its own to autograd.
    return at::_unsafe_view(at::bmm(as_batch(x), weight_OI.t().unsqueeze(0)), sizes);
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const tensor_list saved = context->get_saved_variables();
    // Without its node, behind which is what the forward made.
    const Tensor x = saved[0].detach();
    const Tensor& weight_OI = saved[1];
    const Tensor dy_1NO = as_batch(gradients[0]);
    Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::bmm(dy_1NO, weight_OI.unsqueeze(0)).view(x.sizes());
    }
    WaitingGradients& waiting = waiting_kept(context);
    waiting.waiting_[waiting.now_].push_back(
        {.weight = context->saved_data[kWeight].toTensor(), .x = x, .dy_1NO = dy_1NO});
    return {dx, Tensor(), Tensor()};
  }
};

// Takes what has come to a leaf that stands for a weight.
class WaitingGradients::Seen final : public torch::autograd::PostAccumulateGradHook {
 public:
  Seen(WaitingGradients& waiting, Tensor weight) : waiting_(waiting), weight_(std::move(weight)) {}

  void operator()(const Tensor& leaf) override {
    waiting_.waiting_[waiting_.now_].push_back(
        {.weight = weight_, .gradient = std::exchange(leaf.mutable_grad(), Tensor())});
  }

 private:
  WaitingGradients& waiting_;
  Tensor weight_;
};

Tensor WaitingGradients::product(const Tensor& x, const Tensor& weight_OI) {
  Tensor left = x;
  Tensor right_OI = weight_OI;
  const auto device = x.device().type();
  if (at::autocast::is_autocast_enabled(device)) {
    const at::ScalarType compute = at::autocast::get_autocast_dtype(device);
    left = at::autocast::cached_cast(compute, x, device);
    right_OI = at::autocast::cached_cast(compute, weight_OI, device);
  }
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return Product::apply(left, right_OI.detach(), Product::Of{this, weight_OI});
}

Tensor WaitingGradients::seen(const Tensor& weight) {
  Tensor leaf = weight.detach().requires_grad_(true);
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::make_unique<Seen>(*this, weight));
  return leaf;
}

void WaitingGradients::make(int64_t micro_batch) {
  const torch::NoGradGuard no_grad;
  const auto found = waiting_.find(micro_batch);
  if (found == waiting_.end()) return;
  std::vector<Waiting> all = std::move(found->second);
  waiting_.erase(found);
  for (Waiting& one : all) {
    if (one.x.defined()) {
      one.gradient = at::bmm(as_batch(one.x).transpose(1, 2), one.dy_1NO).squeeze(0).t();
      one.x = one.dy_1NO = Tensor();
    }
    accumulate(one.weight, std::move(one.gradient));
  }
}

LayerFactory WaitingGradients::layers(const LayerFactory& layers) {
  using Options = LayerFactory::Options;
  LayerFactory waiting = layers;
  waiting.linear = [own = shared_from_this()](int64_t in, int64_t out,
                                              const Options& options) -> Layer {
    return std::make_shared<WaitingLinear>(own, in, out, options);
  };
  waiting.rms_norm = [own = shared_from_this()](int64_t d_model, double eps,
                                                const Options& options) -> Layer {
    return std::make_shared<WaitingNorm>(own, d_model, eps, options);
  };
  return waiting;
}

}  // namespace headroom
