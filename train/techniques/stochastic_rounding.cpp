#include "train/techniques/stochastic_rounding.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

namespace headroom {

using torch::Tensor;

namespace {

at::Generator make_generator(torch::Device device, uint64_t seed) {
  at::Generator generator = device.is_cuda() ? at::cuda::detail::createCUDAGenerator(device.index())
                                             : at::detail::createCPUGenerator();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace

// A BF16 number is the upper half of an FP32 one. Sixteen random bits are added to the lower half,
// which is then cut off: a carry's probability is the lower half's fraction.
Tensor round_stochastically(const Tensor& fp32, const at::Generator& generator,
                            const OperationPtr& compiled) {
  constexpr int64_t kLowerHalf = 0xFFFF;
  Tensor bits =
      torch::randint(kLowerHalf + 1, fp32.sizes(), generator, fp32.options().dtype(torch::kInt32));
  if (compiled) {
    const Tensor rounded = torch::empty_like(fp32, torch::kBFloat16);
    if (compiled->run_flat({fp32, bits, rounded}, {})) return rounded;
  }
  bits.add_(fp32.view(torch::kInt32)).bitwise_and_(~kLowerHalf);
  // A carry would turn NaN into another number.
  return torch::where(fp32.isfinite(), bits.view(torch::kFloat32), fp32).to(torch::kBFloat16);
}

namespace {

// One of very many replicas may own no piece of any parameter.
torch::Device device_of(const std::vector<Tensor>& parameters) {
  return parameters.empty() ? torch::Device(torch::kCPU) : parameters.front().device();
}

}  // namespace

StochasticRounding::StochasticRounding(std::vector<Tensor> parameters, uint64_t seed,
                                       const MakeOptimizer& make, OperationPtr compiled)
    : Optimizer(std::move(parameters)),
      seed_(seed),
      generator_(make_generator(device_of(parameters_), seed)),
      compiled_(std::move(compiled)) {
  for (const Tensor& parameter : parameters_) {
    const Tensor weight = parameter.detach();
    parts_.push_back({weight, make({weight}, parts_.size()), {}});
  }
}

std::vector<Tensor> StochasticRounding::state() const {
  std::vector<const Optimizer*> optimizers;
  optimizers.reserve(parts_.size());
  for (const Part& part : parts_) optimizers.push_back(part.optimizer.get());
  return state_of_all(optimizers);
}

void StochasticRounding::make_state(int64_t updates) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.weight.set_data(parameters_[i].detach().to(torch::kFloat32));  // as in an update
    part.optimizer->resume(updates);
    part.weight.set_data(parameters_[i].detach());
    std::vector<Tensor> state = part.optimizer->state();
    part.kept.resize(state.size());
    for (size_t k = 0; k < state.size(); ++k) {
      const bool is_moment =
          state[k].is_floating_point() && state[k].sizes() == parameters_[i].sizes();
      if (!is_moment) continue;
      part.kept[k] = state[k].to(torch::kBFloat16, /*non_blocking=*/false, /*copy=*/true);
      state[k].set_data(part.kept[k].detach());
    }
  }
}

void StochasticRounding::update() {
  constexpr uint64_t kApart = 1000003;  // between two updates; parameters' seeds may be neighbours
  generator_.set_current_seed(seed_ + kApart * static_cast<uint64_t>(updates()));
  for (size_t i = 0; i < parts_.size(); ++i) update(parameters_[i], parts_[i]);
}

void StochasticRounding::update(Tensor& parameter, Part& part) {
  part.weight.set_data(parameter.detach().to(torch::kFloat32));
  part.weight.mutable_grad() = parameter.grad().to(torch::kFloat32);
  std::vector<Tensor> state = part.optimizer->state();
  for (size_t k = 0; k < part.kept.size(); ++k) {
    if (part.kept[k].defined()) state[k].set_data(part.kept[k].to(torch::kFloat32));
  }
  state.clear();  // the optimizer may free its old values
  part.optimizer->step();
  part.weight.mutable_grad() = Tensor();
  parameter.copy_(round_stochastically(part.weight, generator_, compiled_));
  part.weight.set_data(parameter.detach());
  state = part.optimizer->state();
  part.kept.resize(state.size());
  for (size_t k = 0; k < state.size(); ++k) {
    const bool is_moment = state[k].defined() && state[k].scalar_type() == torch::kFloat32 &&
                           state[k].sizes() == parameter.sizes();
    if (!is_moment) continue;
    const Tensor rounded = round_stochastically(state[k], generator_, compiled_);
    if (part.kept[k].defined()) {
      part.kept[k].copy_(rounded);
    } else {
      part.kept[k] = rounded;
    }
    state[k].set_data(part.kept[k].detach());
  }
}

}  // namespace headroom
