#include "train/techniques/activations/saved_tensors.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <utility>

namespace headroom {
namespace {

thread_local SavedTensors* innermost = nullptr;

class Hooks final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Hooks(SavedTensors& saves) : saves_(saves) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    // Without its node: an output saved by its own node would keep itself alive.
    at::Tensor value = tensor.tensor_data();
    if (saves_.takes(tensor)) packed_ = saves_.pack(value);
    if (!packed_) value_ = std::move(value);
  }
  at::Tensor call_unpack_hook() override { return packed_ ? packed_->unpack() : value_; }

 private:
  SavedTensors& saves_;
  std::unique_ptr<PackedTensor> packed_;
  at::Tensor value_;  // kept unchanged
};

class HookedEngine final : public torch::autograd::Engine {
 public:
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return innermost == nullptr ? nullptr : std::make_unique<Hooks>(*innermost);
  }

  // Never destroyed: its threads wait for work until the process ends.
  static torch::autograd::Engine& instance() {
    static auto* const engine = new HookedEngine;
    return *engine;
  }
};

class AsItIs final : public PackedTensor {
 public:
  explicit AsItIs(at::Tensor value) : value_(std::move(value)) {}
  at::Tensor unpack() override { return value_; }

 private:
  at::Tensor value_;
};

}  // namespace

std::unique_ptr<PackedTensor> save(const torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  at::Tensor value = tensor.tensor_data();
  std::unique_ptr<PackedTensor> packed;
  if (innermost != nullptr && innermost->takes_inputs()) packed = innermost->pack(value);
  return packed ? std::move(packed) : std::make_unique<AsItIs>(std::move(value));
}

SavingGuard::SavingGuard(SavedTensors* saves) : outer_(std::exchange(innermost, saves)) {}

SavingGuard::~SavingGuard() { innermost = outer_; }

void install_saved_tensor_hooks() {
  static const bool installed = [] {
    torch::autograd::set_default_engine_stub(&HookedEngine::instance);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace headroom
