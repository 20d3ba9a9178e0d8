// A user's C++ training program on libtorch: modules, backward, an optimizer. Prints its peak.
// usage: train_cpp
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <cstdio>

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

}  // namespace

int main() {
  // Before any module.
  const torch::Tensor x = torch::rand({2048, 1024}, torch::kCUDA);
  Net net;
  net->to(torch::kCUDA);
  torch::optim::AdamW optimizer(net->parameters());
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    net(x).pow(2).mean().backward();
    optimizer.step();
  }
  using c10::CachingAllocator::StatType;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  std::printf(
      "peak %lld\n",
      static_cast<long long>(stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak));
}
