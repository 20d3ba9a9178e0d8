// Activations held in 8 bits until backward.
//
// Note [Activations in 8 bit]
// Rationale: most of a training step's memory is what the forward saves for backward, and each of
//   these numbers is read once or twice more. In 8 bits with a scale per block (quantize.h) FP32
//   takes a quarter, BF16 and FP16 half. GACT (Liu et al. 2022) and ActNN (Chen et al. 2021) train
//   this way.
// Approach: by Note [Whole storages]. Of its candidates, FP32, FP16 and BF16 tensors with a last
//   dimension other than 1 are packed. One number per row (a norm's 1/rms, a softmax's sum) takes
//   few bytes and is a divisor: rounded to zero it gives infinity. A fused attention's log-sum-exp
//   has no gradient: an error in it would be exponentiated.
//   Backward's peak falls by the bytes that packing saves; forward peaks where a storage and its
//   codes are both live, with the temporaries of quantize.h.
//   64 numbers to a scale: after 200 steps on real text a small model's loss is 0.2 % off with 64
//   and 1.04 % with 256, where numbers small beside their block's largest become zero.
// Limits: the rest of a saved view's storage is encoded with it: uninitialized memory there can
//   make its block coarser, or NaN.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/settings/vocabulary/activations.h"
#include "train/techniques/activations/quantize.h"
#include "train/techniques/activations/whole_storages.h"

namespace headroom {

// True if the numbers can be in 8 bits: 32- or 16-bit floats, more than one per row.
bool is_coded(const torch::Tensor& tensor);

class CompressedActivations final : public WholeStorages {
 public:
  // `form` must have 8 bits.
  explicit CompressedActivations(const Activations& activations, CompiledPacking compiled = {});

  bool takes(const torch::Tensor& tensor) override;

 private:
  std::unique_ptr<StorageForm> form_of(const torch::Tensor& numbers) override;

  Activations activations_;
  CompiledPacking compiled_;
};

}  // namespace headroom
