// Keeps the blocks' saved activations in host memory until their backward.
//
// Note [Activations on the host]
// Rationale: most of a step lies between a block's forward and its backward, and its saved tensors
//   are unused meanwhile. The host link is tens of times slower than the card, but the copies run
//   beside the arithmetic.
// Approach: by Note [Whole storages]; --activations offload-int8 copies codes and scales
//   (quantize.h). Copies are requested while a block saves; the arithmetic waits for them when the
//   card's memory is freed, by Note [Units of saves]. Saves of the last block and outside all
//   blocks (embedding, final norm, head, loss) stay: backward begins with them, or they are small.
//   On a pipeline stage, saves of a piece's last block stay if that piece's backward comes next.
// Limits: a unit's other card memory is freed as without offload; running out of host memory is an
//   out-of-memory error.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/hooks/memory_tags.h"
#include "train/hooks/step_hook.h"
#include "train/offload/activations/saved_units.h"
#include "train/offload/copy_queue.h"
#include "train/schedule/task.h"
#include "train/settings/vocabulary/activations.h"
#include "train/techniques/activations/quantize.h"
#include "train/techniques/activations/whole_storages.h"

namespace headroom {

class OffloadedActivations final : public WholeStorages, public StepHook {
 public:
  // `layers`: of the model. host_limit_bytes: on the host memory taken; 0 = none.
  OffloadedActivations(const Activations& activations, torch::Device device, int64_t layers,
                       std::shared_ptr<CopyQueue> copies, int64_t host_limit_bytes = 0);
  ~OffloadedActivations() override;

  // For a pipeline stage: the last block of each of its pieces. Several forwards may come before a
  // backward.
  void end_at(std::vector<int64_t> last_blocks);
  // Encodes by compiled operations.
  void pack_by(CompiledPacking packing) { packing_ = std::move(packing); }

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_forward(const Task& task) override { begin_pass(task.backward_follows); }
  void end_forward(const Task& task) override;
  void begin_backward(const Task& /*task*/) override { begin_pass(/*backward_follows=*/true); }
  bool takes_inputs() const override { return true; }
  bool takes(const torch::Tensor& tensor) override;
  std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) override;

  // `inner`, with saves assigned to its block.
  BlockRunner around(BlockRunner inner);

 private:
  class Moved;
  class Form;

  void begin_pass(bool backward_follows);
  bool is_last() const;  // the running block is one that backward begins with
  std::unique_ptr<StorageForm> form_of(const torch::Tensor& numbers) override;

  Activations activations_;
  CompiledPacking packing_;
  std::vector<int64_t> last_blocks_;
  bool is_stage_ = false;
  bool backward_follows_ = true;
  MemoryTags* tags_ = nullptr;
  std::shared_ptr<HostArena> arena_;
  std::shared_ptr<CopyQueue> copies_;
  SavedUnits units_;
  int64_t block_ = SavedUnits::kNoBlock;  // the running block
};

}  // namespace headroom
