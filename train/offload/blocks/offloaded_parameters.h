// Keeps the blocks' parameters in host memory or in a file, and on the card while a block computes.
//
// Note [Parameters on the host]
// Rationale: a step reads one block's weights at a time. The other blocks' weights would be idle on
//   the card, and are most of a large model's memory.
// Approach: a parameter stays the same tensor; its storage's memory comes and goes, which modules,
//   graphs and optimizers do not notice. Note [Blocks that come and go] sets the times;
//   with_prefetch() applies them. Embedding, final norm and head stay on the card. Autocast's
//   copies of a block's weights are freed with the block.
// Limits: only with updates on the host, or without updates. Copies that backward saves are kept as
//   always: with BF16 products of FP32 weights a copy of all weights is on the card unless blocks
//   are recomputed. One backward at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/data/weights.h"
#include "train/hooks/memory_tags.h"
#include "train/hooks/step_hook.h"
#include "train/offload/blocks/block_prefetcher.h"
#include "train/offload/blocks/block_storage.h"

namespace headroom {

class OffloadedParameters final : public BlockPrefetcher, public StepHook {
 public:
  explicit OffloadedParameters(std::unique_ptr<BlockStorage> storage);
  ~OffloadedParameters() override;

  // Moves out the parameters of each block as soon as it is made.
  void take(TransformerBlock& block);

  // Sets the names of the model's parameters, for tags.
  void name(const NamedTensors& parameters);

  // Tags the host's memory now, and fetched memory later.
  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override { BlockPrefetcher::begin_step(); }

  // True if the parameter comes and goes.
  bool is_offloaded(const torch::Tensor& parameter) const { return find(parameter).index != kNone; }
  // Memory for writing its new numbers; null: use store(), or it stays on the card.
  std::shared_ptr<HostArena::Buffer> host_buffer(const torch::Tensor& parameter) const;
  void store(const torch::Tensor& parameter, const HostArena::Buffer& numbers);
  // Waits until everything stored is in place.
  void finish_stores() { storage_->finish_stores(); }

  // The numbers of an offloaded parameter, as a new tensor on the host; the parameter itself if it
  // stays on the card.
  torch::Tensor on_host(const torch::Tensor& parameter) const;
  // Sets an offloaded parameter's numbers, in its type and shape.
  void set(const torch::Tensor& parameter, const torch::Tensor& numbers);

  DiskFigures disk() const { return storage_->disk(); }
  std::vector<std::string> notes() const { return storage_->notes(); }

 private:
  static constexpr size_t kNone = -1;
  struct Block;

  // index is kNone if the parameter stays on the card.
  BlockStorage::Place find(const torch::Tensor& parameter) const;
  void fetch(int64_t index) override;
  void drop(int64_t index) override;
  void wait_for(int64_t index) override;

  std::unique_ptr<BlockStorage> storage_;
  std::vector<std::unique_ptr<Block>> blocks_;
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
