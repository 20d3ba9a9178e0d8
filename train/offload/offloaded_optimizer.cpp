#include "train/offload/offloaded_optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "train/device.h"

namespace headroom {

using torch::Tensor;

namespace {

// As a CopyQueue takes it.
Tensor bytes_of(const Tensor& tensor) { return tensor.detach().view({-1}).view(torch::kUInt8); }

// Two buffers of as many bytes, in pieces that lie in one part of both.
void for_each_common_part(const HostArena::Buffer& one, const HostArena::Buffer& other,
                          const std::function<void(Tensor&, Tensor&)>& use) {
  size_t i = 0;
  int64_t used = 0;  // of other's part i
  for (const Tensor& part : one.parts()) {
    int64_t at = 0;
    while (at < part.numel()) {
      const int64_t bytes = std::min(part.numel() - at, other.parts()[i].numel() - used);
      Tensor piece = part.narrow(0, at, bytes);
      Tensor others = other.parts()[i].narrow(0, used, bytes);
      use(piece, others);
      at += bytes;
      used += bytes;
      if (used < other.parts()[i].numel()) continue;
      ++i;
      used = 0;
    }
  }
}

HostNumber type_of(const Tensor& parameter) {
  return parameter.scalar_type() == torch::kBFloat16 ? HostNumber::kBf16 : HostNumber::kFp32;
}

}  // namespace

OffloadedOptimizer::OffloadedOptimizer(const torch::OrderedDict<std::string, Tensor>& parameters,
                                       std::shared_ptr<CopyQueue> copies,
                                       const HostAdamwOptions& options,
                                       const OffloadedParameters* homes, int64_t host_limit_bytes)
    : GradientTaker(parameters), copies_(std::move(copies)), options_(options) {
  const torch::NoGradGuard no_grad;
  const bool on_card = parameters_.front().is_cuda();
  computes_ = !on_card || !under_virtual_card();
  arena_ = HostArena::make(/*pinned=*/on_card, host_limit_bytes);
  for (const Tensor& parameter : parameters_) {
    Held& held = held_.emplace_back();
    for (Tensor* tensor : {&held.master, &held.m, &held.v}) {
      *tensor = torch::empty(parameter.sizes(), torch::kFloat32);
    }
    if (homes != nullptr) held.home = homes->home(parameter);
    if (computes_) held.master.copy_(held.home ? homes->on_host(parameter) : parameter);
  }
}

OffloadedOptimizer::~OffloadedOptimizer() { begin_step(); }

void OffloadedOptimizer::listen(ScopeListener* scopes, MemoryClaims* claims) {
  GradientTaker::listen(scopes, claims);
  claim_slabs();
}

void OffloadedOptimizer::claim_slabs() {
  claim(claims_, Category::kOther, arena_->slabs(), {"gradients on the host"});
}

void OffloadedOptimizer::begin_step() {
  GradientTaker::begin_step();
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
  claim(claims_, Category::kGradients, gradient, names_[index]);
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

// As autograd adds them: each sum rounded to the gradient's type.
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

void OffloadedOptimizer::end_backward() {
  GradientTaker::end_backward();
  if (const auto last = std::exchange(leaving_, std::nullopt)) let_go(*last);
}

void OffloadedOptimizer::finish_step() {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  const torch::NoGradGuard no_grad;
  if (max_grad_norm_ > 0) clip();
  for (const size_t index : arrived_) update(index);
  for (const size_t index : arrived_) {
    if (held_[index].on_the_way) held_[index].on_the_way->wait();
    held_[index].arrived = false;
  }
  arrived_.clear();
  claim_slabs();
}

// As train/techniques/clipping.cpp, in FP64.
void OffloadedOptimizer::clip() {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "clipping"});
  for (const size_t index : arrived_) held_[index].on_the_way->wait_on_host();
  if (!computes_) return;
  double sum = 0;
  for (const size_t index : arrived_) {
    const int64_t size = parameters_[index].element_size();
    for (const Tensor& part : held_[index].buffer->parts()) {
      sum += sum_of_squares(part.data_ptr(), type_of(parameters_[index]), part.numel() / size);
    }
  }
  const double coefficient = max_grad_norm_ / (std::sqrt(sum) + 1e-6);
  options_.gradient_scale = coefficient > 1 ? 1 : coefficient;  // a NaN stays one
}

void OffloadedOptimizer::update(size_t index) {
  Held& held = held_[index];
  held.on_the_way->wait_on_host();
  ++held.updates;
  if (computes_) compute(index);
  held.on_the_way = held.home ? nullptr : copies_->in(held.buffer, bytes_of(parameters_[index]));
}

void OffloadedOptimizer::compute(size_t index) {
  Held& held = held_[index];
  const HostArena::Buffer& weights = held.home ? *held.home : *held.buffer;
  int64_t first = 0;
  for_each_common_part(*held.buffer, weights, [&](Tensor& gradient, Tensor& weight) {
    const int64_t elements = gradient.numel() / parameters_[index].element_size();
    host_adamw({.master = held.master.data_ptr<float>() + first,
                .m = held.m.data_ptr<float>() + first,
                .v = held.v.data_ptr<float>() + first,
                .gradient = gradient.data_ptr(),
                .weight = weight.data_ptr(),
                .type = type_of(parameters_[index]),
                .elements = elements},
               options_, held.updates);
    first += elements;
  });
}

std::vector<Tensor> OffloadedOptimizer::state() const {
  std::vector<Tensor> all;
  for (const Held& held : held_) all.push_back(held.m);
  for (const Held& held : held_) all.push_back(held.v);
  return all;
}

std::vector<Tensor> OffloadedOptimizer::master_weights() const {
  std::vector<Tensor> all;
  for (const Held& held : held_) all.push_back(held.master);
  return all;
}

}  // namespace headroom
