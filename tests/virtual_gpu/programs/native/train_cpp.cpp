// A user's C++ training program on libtorch: modules, backward, an optimizer. Prints its peak.
// usage: train_cpp [own|hook]    own: with an optimizer of its own, which names its memory; hook: a
// hook keeps a copy of a gradient
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl() {
    scale = register_parameter("scale", torch::ones({1024}));
    offset = register_buffer("offset", torch::zeros({1024}));
    first = register_module("first", torch::nn::Linear(1024, 1024));
    second = register_module("second", torch::nn::Linear(1024, 1024));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return second(torch::tanh(first(x * scale + offset)));
  }
  torch::Tensor scale, offset;
  torch::nn::Linear first{nullptr}, second{nullptr};
};
TORCH_MODULE(Net);

// Looks up a function of headroom in the way that docs/programs/dryrun.md describes.
template <typename F>
F* call_of_headroom(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

// Its states are in no torch::optim::Optimizer.
class Momentum {
 public:
  explicit Momentum(std::vector<torch::Tensor> parameters) : parameters_(std::move(parameters)) {}
  void step() {
    const auto begins = call_of_headroom<void()>("headroom_step_begins");
    if (begins != nullptr) begins();
    const torch::NoGradGuard no_gradients;
    for (const torch::Tensor& parameter : parameters_) {
      if (states_.size() < parameters_.size()) add_state(parameter);
      parameter.sub_(parameter.grad() * 0.1);
    }
    const auto ends = call_of_headroom<void(const char*)>("headroom_step_ends");
    if (ends != nullptr) ends(kName);
  }

 private:
  static constexpr const char* kName = "Momentum (optimizer)";
  void add_state(const torch::Tensor& parameter) {
    const torch::Tensor& state = states_.emplace_back(torch::zeros_like(parameter));
    const auto name =
        call_of_headroom<int(const void*, const char*, const char*)>("headroom_name_memory");
    if (name != nullptr) name(state.data_ptr(), "optimizer state", kName);
  }

  std::vector<torch::Tensor> parameters_, states_;
};

// Its gradient is copied while libtorch's own node for it runs. null: no hook.
torch::Tensor hooked(torch::Tensor output, torch::Tensor* copy) {
  if (copy != nullptr) {
    output.register_hook([copy](const torch::Tensor& gradient) { *copy = gradient.clone(); });
  }
  return output;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  // Before any module.
  const torch::Tensor x = torch::rand({2048, 1024}, torch::kCUDA);
  Net net;
  net->to(torch::kCUDA);
  torch::optim::AdamW optimizer(net->parameters());
  Momentum own(net->parameters());
  torch::Tensor copy;
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    hooked(net(x), mode == "hook" ? &copy : nullptr).pow(2).mean().backward();
    if (mode == "own") {
      own.step();
    } else {
      optimizer.step();
    }
  }
  using c10::CachingAllocator::StatType;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  std::printf(
      "peak %lld\n",
      static_cast<long long>(stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak));
}
