// Replaces the tensors that autograd saves for backward: recomputed, compressed, moved away.
//
// Note [Saved-tensor hooks in C++]
// Rationale: techniques that keep less than autograd saves are applied from outside the model, so
//   they must intercept a node's saves. Python has hooks for that; libtorch's C++ API has none, but
//   every save asks the default engine for hooks.
// Approach: an Engine that answers with the innermost SavingGuard of the saving thread. Building a
//   step makes it the default engine, with or without a technique, so that one backward thread (and
//   its cuBLAS workspace) serves all steps of a process.
// Limits: tensors that go through a SavedTensors lose autograd's check for later in-place changes.
//   Python programs have their own engine.
#pragma once

#include <memory>
#include <vector>

#include "model/torch.h"

namespace headroom {

// One saved tensor, in its stored form.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  // The saved tensor: its shape, strides and dtype; its values as exact as the form keeps them.
  // Called in backward, once or more often, on autograd's thread.
  virtual torch::Tensor unpack() = 0;
};

class SavedTensors {
 public:
  virtual ~SavedTensors() = default;
  // True if pack() should get this tensor of a node; here it is still in its graph.
  virtual bool takes(const torch::Tensor& /*tensor*/) { return true; }
  // True if it also packs the inputs that a nested recomputation keeps: a checkpoint's inputs
  // inside a checkpoint. With 8 bits these would change the forward.
  virtual bool takes_inputs() const { return false; }
  // Packs a tensor that a node saves (detached; its storage is the saved one's). Null: kept
  // unchanged. Called under NoGradGuard.
  virtual std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) = 0;
};

// While alive, this thread's saves go through `saves`; the innermost guard wins. Null: autograd's
// normal saves.
class SavingGuard {
 public:
  explicit SavingGuard(SavedTensors* saves);
  ~SavingGuard();
  SavingGuard(const SavingGuard&) = delete;
  SavingGuard& operator=(const SavingGuard&) = delete;

 private:
  SavedTensors* outer_;
};

// Saves an input of a recomputation: through the innermost guard if that takes inputs, else
// unchanged. Never null.
std::unique_ptr<PackedTensor> save(const torch::Tensor& tensor);

// Makes the engine with SavingGuard support the default; repeated calls do nothing. Not while a
// backward runs.
void install_saved_tensor_hooks();

}  // namespace headroom
