// What the blocks save for backward, held in host memory until backward comes to them.
//
// Note [Activations on the host]
// Rationale: between a block's forward and its backward lies most of a step, and nobody reads what
//   it saved. The host link is slower than the card by tens of times, but the copies run beside the
//   arithmetic.
// Approach: by Note [Whole storages]; with --activations offload-int8 what is copied are codes and
//   scales (quantize.h). Copies are asked for while a block saves; the arithmetic waits for them
//   when the card's memory goes, by Note [Units of saves]. What the last block and what no block
//   saves (embedding, final norm, head, loss) stays: backward begins with it, or it is small. In a
//   pipeline's stage the last block of a piece does where that piece's backward comes next.
// Limits: card memory that a unit made on the way is freed by the allocator as without offload; a
//   step that runs out of host memory is out of memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/memory_tags.h"
#include "train/offload/copy_queue.h"
#include "train/offload/saved_units.h"
#include "train/step_hook.h"
#include "train/task.h"
#include "train/techniques/whole_storages.h"
#include "train/vocabulary/activations.h"

namespace headroom {

class OffloadedActivations final : public WholeStorages, public StepHook {
 public:
  // `layers`: of the model. host_limit_bytes: of the host memory taken; 0 = none.
  OffloadedActivations(const Activations& activations, torch::Device device, int64_t layers,
                       std::shared_ptr<CopyQueue> copies, int64_t host_limit_bytes = 0);
  ~OffloadedActivations() override;

  // For a pipeline's stage: the last block of each of its pieces. Several forwards may come before
  // a backward.
  void end_at(std::vector<int64_t> last_blocks);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_forward(const Task& task) override { begin_pass(task.backward_follows); }
  void end_forward(const Task& task) override;
  void begin_backward(const Task& /*task*/) override { begin_pass(/*backward_follows=*/true); }
  bool takes_inputs() const override { return true; }
  bool takes(const torch::Tensor& tensor) override;
  std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) override;

  // `inner`, which saves for the block that it is called for.
  BlockRunner around(BlockRunner inner);

 private:
  class Moved;
  class Form;

  void begin_pass(bool backward_follows);
  bool is_last() const;  // the block that runs, and backward is to begin with it
  std::unique_ptr<StorageForm> form_of(const torch::Tensor& numbers) override;

  Activations activations_;
  std::vector<int64_t> last_blocks_;
  bool is_stage_ = false;
  bool backward_follows_ = true;
  MemoryTags* tags_ = nullptr;
  std::shared_ptr<HostArena> arena_;
  std::shared_ptr<CopyQueue> copies_;
  SavedUnits units_;
  int64_t block_ = SavedUnits::kNoBlock;  // that runs
};

}  // namespace headroom
