#include "train/techniques/checkpoint/random_state.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>

namespace headroom {
namespace {

at::CPUGeneratorImpl& cpu_generator() {
  return *at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
}

at::CUDAGeneratorImpl& card_generator(torch::Device device) {
  return *at::check_generator<at::CUDAGeneratorImpl>(
      at::cuda::detail::getDefaultCUDAGenerator(device.index()));
}

}  // namespace

std::optional<RandomState::OfCard> RandomState::of_card(torch::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  at::CUDAGeneratorImpl& generator = card_generator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  // Zero numbers move nothing, and a capture allows this read too.
  const at::PhiloxCudaState now = generator.philox_cuda_state(0);
  if (now.captured_) return OfCard{.offset = now.offset_intragraph_, .captured = true};
  return OfCard{.seed = now.seed_.val, .offset = now.offset_.val};
}

RandomState RandomState::now(torch::Device device) {
  RandomState state;
  state.device_ = device;
  at::CPUGeneratorImpl& generator = cpu_generator();
  {
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    state.cpu_ = generator.clone();
  }
  state.card_ = of_card(device);
  return state;
}

bool RandomState::of_cpu_has_moved() const {
  at::CPUGeneratorImpl& generator = cpu_generator();
  const std::lock_guard<std::mutex> lock(generator.mutex_);
  const at::mt19937_data_pod now = generator.engine().data();
  const at::mt19937_data_pod then = cpu_->engine().data();
  return now.left_ != then.left_ || now.next_ != then.next_ || now.seed_ != then.seed_ ||
         now.state_ != then.state_ ||
         generator.next_float_normal_sample() != cpu_->next_float_normal_sample() ||
         generator.next_double_normal_sample() != cpu_->next_double_normal_sample();
}

bool RandomState::has_moved() const { return of_cpu_has_moved() || card_ != of_card(device_); }

void RandomState::set() const {
  at::CPUGeneratorImpl& generator = cpu_generator();
  {
    const std::lock_guard<std::mutex> lock(generator.mutex_);
    generator.set_engine(cpu_->engine());
    generator.set_next_float_normal_sample(cpu_->next_float_normal_sample());
    generator.set_next_double_normal_sample(cpu_->next_double_normal_sample());
  }
  const std::optional<OfCard> now = of_card(device_);
  if (card_ == now) return;
  TORCH_CHECK(!card_->captured && !now->captured,
              "operations that draw random numbers on a card cannot be computed again inside a "
              "captured CUDA graph: their generator cannot be reset there");
  at::CUDAGeneratorImpl& of_card = card_generator(device_);
  const std::lock_guard<std::mutex> lock(of_card.mutex_);
  of_card.set_current_seed(card_->seed);
  of_card.set_philox_offset_per_thread(card_->offset);
}

RandomStateGuard::RandomStateGuard(const RandomState& state)
    : before_(RandomState::now(state.device_)) {
  state.set();
}

RandomStateGuard::~RandomStateGuard() {
  try {
    before_.set();
  } catch (const std::exception&) {  // a refused or failed capture: nothing to keep
  }
}

}  // namespace headroom
