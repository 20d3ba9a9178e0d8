// Sharding over replicas: the optimizer state (ZeRO-1), gradients too (ZeRO-2), parameters too
// (ZeRO-3, as FSDP). Start here; one part of the model is an FsdpUnit.
//
// Note [Units and when they move]
// Rationale: a collective should be large enough for a fast link and small beside the model, and
//   run beside the arithmetic.
// Approach: the units are the token table, every block, and the final norm with the head. When
//   backward has completed a unit's gradients, their sum begins, and the step waits for the sum of
//   the unit before. So the whole gradients of at most two neighbours are on the card. The token
//   table's gradients come right after the first block's, and both go in one call. With ZeRO-3
//   blocks come and go like offloaded ones (Note [Blocks that come and go]). The token table is
//   there until the first block runs. The head is there from the last block's forward until its
//   backward has ended; without prefetch it comes after that forward. Where a backward of another
//   micro-batch comes between, the head is gathered again. With tied embeddings the table comes and
//   goes with the head once more, and the head's unit is the final norm alone.
// Limits: collectives run in the order of the blocks, which is the same on every replica.
#pragma once

#include <memory>
#include <vector>

#include "model/transformer.h"
#include "train/hooks/step_hook.h"
#include "train/offload/blocks/block_prefetcher.h"
#include "train/parallel/data/fsdp_unit.h"
#include "train/schedule/task.h"
#include "train/settings/vocabulary/mesh.h"
#include "train/update/gradient_hooks.h"
#include "train/update/gradient_sink.h"

namespace headroom {

class FullySharded final : public StepHook, public BlockPrefetcher {
 public:
  // zero: 1 to 3. reshard_after_forward, prefetch (blocks): for 3.
  FullySharded(int64_t zero, Reshard reshard_after_forward, int64_t prefetch, SharingRanks ranks);

  // Shards each block as soon as it is made; take_rest() shards the rest of the model.
  void take(int64_t layer, TransformerBlock& block);
  void take_rest(Transformer& model);

  bool come_and_go() const { return zero_ == 3; }  // the parameters do
  // The pieces that this replica's optimizer updates, by parameter name.
  NamedTensors pieces() const;
  // The range of each of pieces() in its parameter.
  std::vector<FlatParameter::Piece> ranges() const;
  // Elements of each piece's whole parameter.
  std::vector<int64_t> whole_numels() const;
  // The parts of each of pieces(), cut from tensors like the parameters, by name.
  NamedTensors cut(const NamedTensors& whole) const;
  // Loads the parameters of all replicas: each replica takes its pieces, or everything if it has
  // whole parameters.
  void set(const NamedTensors& numbers) const;

  // `inner`, with the block's parameters gathered.
  BlockRunner around(BlockRunner inner);

  // Works like DataParallel::send_to().
  void send_to(GradientSink& sink);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override;
  void begin_forward(const Task& task) override;
  void begin_backward(const Task& task) override;
  void end_backward(const Task& task) override;
  void gradients_ready() override;
  void end_update() override;

  // The whole weights on the host, gathered from every replica; `masters`: gathers the optimizer's
  // copies of the pieces instead, if it has some. All replicas must call this at once.
  NamedTensors whole_weights(const std::vector<torch::Tensor>& masters) const;

 private:
  FsdpUnit& block(int64_t index) { return *blocks_[static_cast<size_t>(index)]; }
  FsdpUnit* share(const std::string& name, const NamedTensors& parameters);
  void fetch(int64_t index) override { block(index).fetch(); }
  void wait_for(int64_t index) override;
  void drop(int64_t index) override { block(index).drop(); }
  // Of the units that the head computes with: its own, and the token table if that is its weight.
  void fetch_head();
  void wait_for_head();
  void drop_head();
  void completed(FsdpUnit& unit, size_t parameter);
  void settle_sums();

  int64_t zero_;
  SharingRanks ranks_;
  std::vector<std::unique_ptr<FsdpUnit>> units_;  // the token table, every block, the head
  std::vector<FsdpUnit*> blocks_;
  FsdpUnit* table_ = nullptr;  // both null if this part of a model has none
  FsdpUnit* head_ = nullptr;
  bool is_tied_ = false;            // the table is the head's weight
  FsdpUnit* with_table_ = nullptr;  // the block whose gradients are sent with the token table's
  std::vector<std::unique_ptr<GradientHooks>> hooks_;  // by unit
  std::vector<FsdpUnit*> adding_up_;                   // their sum began last; it may be incomplete
  bool gives_ = false;                                 // sums go to a sink as they come
};

}  // namespace headroom
