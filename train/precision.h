// Arithmetic precision around the model: autocast and TF32.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/torch.h"
#include "train/memory_tags.h"
#include "train/spec.h"

namespace headroom {

struct AutocastState;

// Autocast on `device` while alive; nothing for FP32 and TF32.
//
// Note [The cast cache]
// Rationale: autocast keeps the low-precision copy of every FP32 weight it casts, in one
//   process-wide cache, so that a weight used twice is cast once. Only Python's context manager
//   empties it; in C++ nobody does, and a step after an optimizer update would compute with the
//   weights of the step before (and hold 2 bytes per parameter).
// Approach: the outermost guard empties the cache when it dies, as Python's does.
// Limits: guards must nest; one thread at a time casts. What --kernels eager multiplies by is
//   cached on CUDA only: einsum is on its list of operations and not on the CPU's, where the
//   products that einsum is made of meet views of the weights.
class AutocastGuard {
 public:
  // Where somebody hears `tags`, the copies that this thread makes of `weights` are tagged as
  // cast cache. Every operation is looked at for that.
  AutocastGuard(Precision precision, torch::DeviceType device, MemoryTags* tags = nullptr,
                const std::vector<torch::Tensor>& weights = {});
  // As it was then, off where it was off.
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

// Autocast as this thread has it now, to be had again by an AutocastGuard where something is
// computed again: on another thread, in a backward. Copies of weights are tagged there as here,
// so it is used while the tags are heard.
struct AutocastState {
  static AutocastState now(torch::DeviceType device);

  torch::DeviceType device = torch::kCPU;
  bool enabled = false;
  at::ScalarType dtype = at::kFloat;
  MemoryTags* tags = nullptr;
  std::shared_ptr<const std::unordered_set<const void*>> weights;  // their storages
};

// For people, where BF16 weights are on a card whose arithmetic has no BF16; else "".
std::string bf16_weights_note(torch::Device device);

// Throws UsageError on a card that multiplies no FP8. The CPU computes as one that does.
void check_fp8_device(torch::Device device);

// Turns TF32 matrix products on or off for the process.
void set_matmul_precision(Precision precision);

// The precision that will really run on this device, with a line in `note` where it is not the
// wanted one: BF16 on a card without it becomes FP16, as the profiling assignment asks, and TF32
// where there is none is FP32.
Precision supported_precision(Precision wanted, torch::Device device, std::string* note);

}  // namespace headroom
