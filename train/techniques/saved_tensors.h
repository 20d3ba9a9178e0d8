// What becomes of the tensors that autograd saves for backward: recomputed, compressed, moved away.
//
// Note [Saved-tensor hooks in C++]
// Rationale: techniques that keep less than autograd saves are applied from outside the model, so
//   they must stand between a node and what it saves. Python has hooks for that; libtorch's C++ API
//   has none, but every save asks the default engine for hooks.
// Approach: an Engine whose answer is the innermost SavingGuard of the thread that saves. It is
//   made the default engine when a step is built, with a technique or without, so that one backward
//   thread (and its cuBLAS workspace) serves all steps of a process.
// Limits: autograd's check that a saved tensor was not changed in place since is lost for what goes
//   through a SavedTensors. Python programs bring an engine of their own.
#pragma once

#include <memory>
#include <vector>

#include "model/torch.h"

namespace headroom {

// One saved tensor, in whatever form it is kept.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  // The tensor that was saved: its shape, strides and dtype, its values as near as the form keeps
  // them. In backward, once or more often, on autograd's thread.
  virtual torch::Tensor unpack() = 0;
};

class SavedTensors {
 public:
  virtual ~SavedTensors() = default;
  // Whether pack() is asked of a tensor that a node saves; it is still in its graph here.
  virtual bool takes(const torch::Tensor& /*tensor*/) { return true; }
  // Whether it packs what something inside keeps to be computed again, too: the inputs of a
  // checkpoint in a checkpoint. In 8 bits they would be a forward of their own.
  virtual bool takes_inputs() const { return false; }
  // Of a tensor (detached; the storage is the saved one's) that a node saves. Null: kept as it is.
  // Under NoGradGuard.
  virtual std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) = 0;
};

// While alive, what this thread's operations save goes through `saves`; the innermost guard holds.
// Null: saved as autograd does.
class SavingGuard {
 public:
  explicit SavingGuard(SavedTensors* saves);
  ~SavingGuard();
  SavingGuard(const SavingGuard&) = delete;
  SavingGuard& operator=(const SavingGuard&) = delete;

 private:
  SavedTensors* outer_;
};

// Keeps a tensor that something will be computed again from: the innermost guard's way where that
// takes inputs, else as it is. Never null.
std::unique_ptr<PackedTensor> save(const torch::Tensor& tensor);

// Makes the engine that asks SavingGuard the default one; every time but the first does nothing.
// Not while a backward runs.
void install_saved_tensor_hooks();

}  // namespace headroom
