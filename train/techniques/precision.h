// Arithmetic precision around the model: autocast and TF32.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/torch.h"
#include "train/hooks/memory_tags.h"
#include "train/settings/spec.h"

namespace headroom {

struct AutocastState;

// Turns autocast on for `device` while alive; does nothing for FP32 and TF32.
//
// Note [The cast cache]
// Rationale: autocast keeps the low-precision copy of every FP32 weight it casts, in one
//   process-wide cache, so that a weight used twice is cast once. Only Python's context manager
//   empties the cache. In C++ nothing does, so a step after an optimizer update would compute with
//   the previous step's weights (and hold 2 bytes per parameter).
// Approach: the outermost guard empties the cache in its destructor, as Python's does.
// Limits: guards must nest; one thread at a time casts. With --kernels eager, weights are cached on
//   CUDA only: einsum is on CUDA's list of autocast operations but not on the CPU's, where the
//   products inside einsum get views of the weights.
class AutocastGuard {
 public:
  // With `tags`, the copies that this thread makes of `weights` are tagged as cast cache. This
  // inspects every operation.
  AutocastGuard(Precision precision, torch::DeviceType device, MemoryTags* tags = nullptr,
                const std::vector<torch::Tensor>& weights = {});
  // Restores the saved state, also where autocast was off.
  explicit AutocastGuard(const AutocastState& state);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  friend struct AutocastState;
  void enter(bool enabled, at::ScalarType dtype);

  bool active_;
  torch::DeviceType device_;
  bool was_enabled_ = false;
  at::ScalarType old_dtype_ = at::kFloat;
  class CastWatch;
  std::unique_ptr<CastWatch> watch_;
};

// This thread's autocast state, for an AutocastGuard where a backward recomputes on another thread.
// The guard also tags copies of weights: use it only while the tags have a listener.
struct AutocastState {
  static AutocastState now(torch::DeviceType device);

  torch::DeviceType device = torch::kCPU;
  bool enabled = false;
  at::ScalarType dtype = at::kFloat;
  MemoryTags* tags = nullptr;
  std::shared_ptr<const std::unordered_set<const void*>> weights;  // their storages
};

// A note for the user if BF16 weights are on a card without BF16 arithmetic; else "".
std::string bf16_weights_note(torch::Device device);

// Throws UsageError on a card without FP8 products. The CPU emulates them.
void check_fp8_device(torch::Device device);

// Turns TF32 matrix products on or off for the process.
void set_matmul_precision(Precision precision);

// The precision that will run on this device, with a line in `note` if it is not the wanted one:
// BF16 on a card without it becomes FP16, as the profiling assignment asks, and TF32 becomes FP32
// where it is missing.
Precision supported_precision(Precision wanted, torch::Device device, std::string* note);

}  // namespace headroom
