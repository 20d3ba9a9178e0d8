// The blocks' parameters in host memory or in a file, on the card while their block computes.
//
// Note [Parameters on the host]
// Rationale: a step reads one block's weights at a time. What the other blocks have on the card is
//   idle, and is most of what a large model needs.
// Approach: a parameter stays the tensor it is; its storage's memory comes and goes, so that
//   modules, graphs and optimizers know nothing of it. When, says Note [Blocks that come and go];
//   with_prefetch() keeps the books. Embedding, final norm and head stay on the card. Autocast's
//   copies of a block's weights go with the block.
// Limits: for updates that are made on the host, or none. What backward saves of those copies is
//   kept, as ever: with BF16 products of FP32 weights a copy of all weights is on the card unless
//   blocks are computed again. One backward at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/data/weights.h"
#include "train/memory_tags.h"
#include "train/offload/block_prefetcher.h"
#include "train/offload/block_storage.h"
#include "train/step_hook.h"

namespace headroom {

class OffloadedParameters final : public BlockPrefetcher, public StepHook {
 public:
  explicit OffloadedParameters(std::unique_ptr<BlockStorage> homes);
  ~OffloadedParameters() override;

  // Moves out the parameters of a block that has just been made, one block after the other.
  void take(TransformerBlock& block);

  // The names of the model's parameters, for tags.
  void name(const NamedTensors& parameters);

  // Tags the host's memory now, and what is fetched as it comes.
  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override { BlockPrefetcher::begin_step(); }

  // Whether it is one that comes and goes.
  bool is_offloaded(const torch::Tensor& parameter) const { return find(parameter).index != kNone; }
  // Where new numbers of it may be written; null: store() takes them, or it stays on the card.
  std::shared_ptr<HostArena::Buffer> home(const torch::Tensor& parameter) const;
  void store(const torch::Tensor& parameter, const HostArena::Buffer& numbers);
  // All that was stored is where it lies.
  void finish_stores() { homes_->finish_stores(); }

  // The numbers of a parameter that lies elsewhere, as a tensor of its own on the host; the
  // parameter itself where it stays on the card.
  torch::Tensor on_host(const torch::Tensor& parameter) const;
  // The other way: numbers of the parameter's type and shape become its own, where it lies there.
  void set(const torch::Tensor& parameter, const torch::Tensor& numbers);

  DiskFigures disk() const { return homes_->disk(); }
  std::vector<std::string> notes() const { return homes_->notes(); }

 private:
  static constexpr size_t kNone = -1;
  struct Block;

  // Its index is kNone where it stays on the card.
  BlockStorage::Place find(const torch::Tensor& parameter) const;
  void fetch(int64_t index) override;
  void drop(int64_t index) override;
  void wait_for(int64_t index) override;

  std::unique_ptr<BlockStorage> homes_;
  std::vector<std::unique_ptr<Block>> blocks_;
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
