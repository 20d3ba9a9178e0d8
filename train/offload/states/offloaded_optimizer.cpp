#include "train/offload/states/offloaded_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/settings/device/real_device.h"
#include "train/update/loss_scaler.h"

namespace headroom {

using torch::Tensor;

namespace {

Tensor masters_of(const StatesInMemory& piece) {
  return torch::from_blob(piece.master, {piece.numbers}, torch::kFloat32);
}

HostNumber type_of(const Tensor& parameter) {
  return parameter.scalar_type() == torch::kBFloat16 ? HostNumber::kBf16 : HostNumber::kFp32;
}

}  // namespace

OffloadedOptimizer::OffloadedOptimizer(const torch::OrderedDict<std::string, Tensor>& parameters,
                                       std::shared_ptr<CopyQueue> copies,
                                       const HostAdamwOptions& options,
                                       std::shared_ptr<HostStates> states,
                                       OffloadedParameters* offloaded_parameters,
                                       const NamedTensors& masters, int64_t host_limit_bytes,
                                       HostRanks ranks)
    : GradientSink(parameters, ranks.source),
      copies_(std::move(copies)),
      options_(options),
      states_(std::move(states)),
      ranks_(std::move(ranks)),
      offloaded_parameters_(offloaded_parameters) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = parameters_.empty() ? torch::kCPU : parameters_.front().device();
  const bool on_card = device.is_cuda();
  computes_ = is_real(device);
  arena_ = HostArena::make(/*pinned=*/on_card, host_limit_bytes);
  held_.resize(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (offloaded_parameters_ == nullptr) break;
    held_[i].is_offloaded = offloaded_parameters_->is_offloaded(parameters_[i]);
    held_[i].host_buffer = offloaded_parameters_->host_buffer(parameters_[i]);
  }
  if (!computes_) return;
  if (states_->steps_done() < 0) {
    masters_from_weights(masters);
  } else {
    weights_from_masters();
  }
}

OffloadedOptimizer::~OffloadedOptimizer() { begin_step(); }

void OffloadedOptimizer::listen(ScopeListener* scopes, MemoryTags* tags) {
  Update::listen(scopes, tags);
  if (tags_ == nullptr) return;
  tag(tags_, Category::kMasterWeights, resident(&StatesInMemory::master), names_);
  tag(tags_, Category::kOptimizerState, state(), names_);
  tag_slabs();
}

void OffloadedOptimizer::tag_slabs() {
  tag(tags_, Category::kOther, arena_->slabs(), {"gradients on the host"});
}

void OffloadedOptimizer::begin_step() {
  GradientSink::begin_step();
  for (const size_t index : arrived_) {
    Held& held = held_[index];
    if (held.on_the_way) held.on_the_way->wait();
    held.more.reset();
    held.arrived = false;
    parameters_[index].mutable_grad() = Tensor();
  }
  arrived_.clear();
  leaving_.reset();
}

void OffloadedOptimizer::take(size_t index) {
  const Tensor& gradient = parameters_[index].grad();
  tag(tags_, Category::kGradients, gradient, names_[index]);
  Held& held = held_[index];
  const auto bytes = static_cast<int64_t>(gradient.nbytes());
  if (!held.buffer) held.buffer = arena_->take(bytes);
  if (held.arrived) held.more = arena_->take(bytes);
  held.on_the_way = copies_->out(bytes_of(gradient), held.more ? held.more : held.buffer);
  if (!std::exchange(held.arrived, true)) arrived_.push_back(index);
  if (const auto before = std::exchange(leaving_, index)) let_go(*before);
}

void OffloadedOptimizer::let_go(size_t index) {
  held_[index].on_the_way->wait();
  parameters_[index].mutable_grad() = Tensor();
  if (held_[index].more) add_up(index);
}

// Rounds each sum to the gradient's type, like autograd.
void OffloadedOptimizer::add_up(size_t index) {
  Held& held = held_[index];
  held.on_the_way->wait_on_host();
  if (computes_) {
    const torch::NoGradGuard no_grad;
    const at::ScalarType type = parameters_[index].scalar_type();
    for_each_common_part(*held.buffer, *held.more, [&](Tensor& sum, Tensor& gradient) {
      sum.view(type).add_(gradient.view(type));
    });
  }
  held.more.reset();
}

void OffloadedOptimizer::end_backward(const Task& /*task*/) {
  if (const auto last = std::exchange(leaving_, std::nullopt)) let_go(*last);
}

void OffloadedOptimizer::finish_step(StepHook& hooks) {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  const torch::NoGradGuard no_grad;
  const bool finite = settle_factor();
  if (finite) {
    const std::vector<int> order(arrived_.begin(), arrived_.end());
    states_->step(order, [this](const StatesInMemory& piece) { update(piece); });
    if (offloaded_parameters_ != nullptr) offloaded_parameters_->finish_stores();
  }
  for (const size_t index : arrived_) {
    if (held_[index].on_the_way) held_[index].on_the_way->wait();
    held_[index].arrived = false;
  }
  arrived_.clear();
  tag_slabs();
  if (finite) {
    hooks.end_update();
  } else {
    ++skipped_steps_;
  }
}

// Sets the update's gradient factor. False if the gradients are not finite: no update then. Clips
// as train/techniques/clipping.cpp, in FP64.
bool OffloadedOptimizer::settle_factor() {
  const double scale = loss_scaler ? loss_scaler->current_scale() : 1;
  const double share = ranks_.share / scale;  // from received values to the gradient
  options_.gradient_scale = share;
  double norm = 0;  // of the gradients as received
  if (max_grad_norm_ > 0) {
    const StepScope phase(scopes_, {ScopeKind::kPhase, "clipping"});
    norm = norm_of_all();
    const double coefficient = max_grad_norm_ / (norm * share + 1e-6);
    options_.gradient_scale = (coefficient > 1 ? 1 : coefficient) * share;  // a NaN stays one
  } else if (loss_scaler) {
    norm = norm_of_all();
  }
  if (!loss_scaler) return true;
  const bool finite = std::isfinite(norm);
  loss_scaler->found(finite);
  loss_scaler->update();
  return finite;
}

double OffloadedOptimizer::norm_of_all() {
  const double here = sum_of_all_squares();
  return std::sqrt(ranks_.add_up ? ranks_.add_up(here) : here);
}

// The sum fits FP64 for any FP32 numbers.
double OffloadedOptimizer::sum_of_all_squares() {
  for (const size_t index : arrived_) held_[index].on_the_way->wait_on_host();
  double sum = 0;
  if (!computes_) return sum;
  for (const size_t index : arrived_) {
    if (!ranks_.counted.empty() && !ranks_.counted[index]) continue;
    const int64_t size = parameters_[index].element_size();
    for (const Tensor& part : held_[index].buffer->parts()) {
      sum += sum_of_squares(part.data_ptr(), type_of(parameters_[index]), part.numel() / size);
    }
  }
  return sum;
}

void OffloadedOptimizer::update(const StatesInMemory& piece) {
  const auto index = static_cast<size_t>(piece.region);
  Held& held = held_[index];
  if (piece.first == 0) held.on_the_way->wait_on_host();
  if (computes_) compute(piece);
  if (piece.first + piece.numbers < parameters_[index].numel()) return;
  held.on_the_way.reset();
  if (!held.is_offloaded) {
    held.on_the_way = copies_->in(held.buffer, bytes_of(parameters_[index]));
  } else if (!held.host_buffer) {
    offloaded_parameters_->store(parameters_[index], *held.buffer);
  }
}

void OffloadedOptimizer::compute(const StatesInMemory& piece) {
  const auto index = static_cast<size_t>(piece.region);
  const Held& held = held_[index];
  const int64_t size = parameters_[index].element_size();
  const HostArena::Buffer& weights = held.host_buffer ? *held.host_buffer : *held.buffer;
  int64_t at = 0;  // in bytes of the parameter
  for_each_common_part(*held.buffer, weights, [&](Tensor& gradients, Tensor& weight_bytes) {
    const int64_t begin = std::max(piece.first * size, at);
    const int64_t end = std::min((piece.first + piece.numbers) * size, at + gradients.numel());
    const int64_t first = begin / size - piece.first;
    if (begin < end) {
      host_adamw({.master = piece.master + first,
                  .m = piece.m + first,
                  .v = piece.v + first,
                  .gradient = gradients.data_ptr<uint8_t>() + (begin - at),
                  .weight = weight_bytes.data_ptr<uint8_t>() + (begin - at),
                  .type = type_of(parameters_[index]),
                  .elements = (end - begin) / size},
                 options_, states_->steps_done() + 1);
    }
    at += gradients.numel();
  });
}

void OffloadedOptimizer::masters_from_weights(const NamedTensors& masters) {
  Tensor numbers;  // of the parameter whose pieces are being filled
  states_->fill([&](const StatesInMemory& piece) {
    const auto index = static_cast<size_t>(piece.region);
    if (piece.first == 0) {
      numbers = parameters_[index];
      if (held_[index].is_offloaded) numbers = offloaded_parameters_->on_host(numbers);
      if (!masters.is_empty()) numbers = masters[names_[index]];
      numbers = numbers.detach().view({-1});
    }
    masters_of(piece).copy_(numbers.narrow(0, piece.first, piece.numbers));
  });
}

void OffloadedOptimizer::weights_from_masters() {
  Tensor numbers;
  states_->read([&](const StatesInMemory& piece) {
    const auto index = static_cast<size_t>(piece.region);
    const Tensor& parameter = parameters_[index];
    if (piece.first == 0) {
      numbers = (held_[index].is_offloaded ? offloaded_parameters_->on_host(parameter) : parameter)
                    .detach()
                    .view({-1});
    }
    numbers.narrow(0, piece.first, piece.numbers).copy_(masters_of(piece));
    const bool whole = piece.first + piece.numbers == numbers.numel();
    if (whole && held_[index].is_offloaded)
      offloaded_parameters_->set(parameter, numbers.view(parameter.sizes()));
  });
}

std::vector<Tensor> OffloadedOptimizer::resident(float* StatesInMemory::*array) const {
  std::vector<Tensor> all;
  for (const StatesInMemory& piece : states_->resident()) {
    all.push_back(torch::from_blob(
        piece.*array, parameters_[all.size()].sizes(), [keep = states_](void*) {},
        torch::kFloat32));
  }
  return all;
}

std::vector<Tensor> OffloadedOptimizer::state() const {
  std::vector<Tensor> all = resident(&StatesInMemory::m);
  for (Tensor& second : resident(&StatesInMemory::v)) all.push_back(std::move(second));
  return all;
}

std::vector<Tensor> OffloadedOptimizer::master_weights() const {
  std::vector<Tensor> all = resident(&StatesInMemory::master);
  if (!all.empty()) return all;
  for (const Tensor& parameter : parameters_) {
    all.push_back(torch::empty(parameter.sizes(), torch::kFloat32));
  }
  states_->read([&](const StatesInMemory& piece) {
    Tensor numbers = all[static_cast<size_t>(piece.region)].view({-1});
    numbers.narrow(0, piece.first, piece.numbers).copy_(masters_of(piece));
  });
  return all;
}

}  // namespace headroom
