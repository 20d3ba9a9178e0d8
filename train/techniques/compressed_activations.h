// What autograd saves, held in 8 bits until backward.
//
// Note [Activations in 8 bit]
// Rationale: most of a training step's memory is what the forward keeps for backward, and each of
//   these numbers is read once or twice more. In 8 bits with a scale per block (quantize.h) FP32
//   takes a quarter, BF16 and FP16 half. GACT (Liu et al. 2022) and ActNN (Chen et al. 2021) train
//   so.
// Approach: what is packed is a storage, whole and once, however many nodes save it or views of it;
//   each save remembers its shape, strides and offset and gets them back. Packed is what all of
//   this holds for:
//     - FP32, FP16 or BF16, in a storage of at least min_bytes;
//     - a gradient goes through it: tables, masks, and a fused attention's log-sum-exp are none of
//       these, and an error in them would be exponentiated;
//     - it is no parameter, view of one, or cast of one. Casts live as long as autocast's cache
//       anyway, so that packing them would add and not save;
//     - its last dimension is not 1: one number per row (a norm's 1/rms, a softmax's sum) is
//       divided by, where a small one rounded to zero is infinity; and it takes few bytes.
//   A storage is decoded when the first of its saves is needed, and kept so until the last that was
//   waiting then has had it, so that neighbours (the three projections behind a norm) share one
//   decoding. What is alive decoded would be alive without this class too, so backward's peak is
//   below the one without it by what the packed rest saves; the highest point of forward is where a
//   storage and its codes both live, with the temporaries of quantize.h.
//   64 numbers to a scale: after 200 steps on real text a small model's loss is 0.2 % off with 64
//   and 1.04 % with 256, where what is small beside its block's largest is rounded to zero.
// Limits: a storage that is kept alive by something else, or saved by one node in a way that is
//   packed and by another in one that is not, takes both forms. What lies in a storage beside the
//   saved view is encoded with it: uninitialized memory there can make its block coarser, or NaN.
//   One thread at a time saves.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <unordered_map>

#include "train/techniques/saved_tensors.h"
#include "train/vocabulary/activations.h"

namespace headroom {

class CompressedActivations final : public SavedTensors {
 public:
  // `form` is not kExact.
  explicit CompressedActivations(const Activations& activations);
  ~CompressedActivations() override;

  bool takes(const torch::Tensor& tensor) override;
  std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) override;

 private:
  class Storage;
  class View;
  struct Known;
  void forget_the_dead();

  Activations activations_;
  std::unordered_map<const void*, Known> known_;  // by StorageImpl
  size_t look_at_ = 64;  // that many known: time to forget those that are gone
};

}  // namespace headroom
