// One model's rows of theory, summed by their split under tensor parallelism. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/parameter_table.h"
#include "plan/cost/layout.h"
#include "profiling/theory/activations/layers/head.h"
#include "profiling/theory/rows.h"
#include "train/optim/table.h"
#include "train/settings/vocabulary/checkpoint.h"

namespace headroom {

// A quantity (elements or bytes) of one model or micro-batch, by its split over ranks.
// Megatron-LM's split: attention by heads, feed-forward by d_ff, token table and output head by
// vocabulary; norms and the residual stream stay whole.
struct Extent {
  int64_t split = 0;       // divided by tp
  int64_t vocabulary = 0;  // per row of the vocabulary; rows are divided, the first rank has most
  int64_t sequence = 0;    // whole on every rank, or divided by tp under sequence parallelism
  int64_t whole = 0;       // on every rank

  Extent& operator+=(const Extent& other);
  friend Extent operator+(Extent a, const Extent& b) { return a += b; }
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(int64_t times, const Extent& extent);
  // On the first rank, which has the most.
  int64_t on_rank(const Layout& layout, int64_t vocab_size) const;
};

// One parameter tensor; every layer has its own copy of a block's.
struct ParameterTensor {
  ModelSection section = ModelSection::kBlock;
  Extent elements;
  Extent hidden;  // elements in matrices of blocks: train/optim/table.h
  Extent blocks;  // Adam-mini's: train/optim/partition.h
};

// Numbers of parameters.
struct ModelElements {
  ModelConfig config;
  Head head = Head::kLanguage;
  Extent embedding, block, final;
  std::vector<ParameterTensor> tensors;  // their elements sum to embedding, block and final
  int64_t total() const;
};
ModelElements model_elements(const ModelConfig& config, Head head);

// Parameters of a model on one rank of one pipeline stage.
struct StageElements {
  int64_t embedding = 0, block = 0, final = 0;  // 0 where the stage has none
  int64_t layers = 0;

  int64_t total() const { return embedding + layers * block + final; }
  // The two largest neighbours in order of execution: both are gathered while the next unit is
  // prefetched during compute.
  int64_t largest_neighbours() const;
};
StageElements stage_elements(const ModelElements& model, const Layout& layout, int64_t stage);

// Bytes of an optimizer's state for one stage on a rank: tensor by tensor, or, if ZeRO shards it
// over replicas, for the first replica's shard as one.
int64_t optimizer_bytes(const ModelElements& model, const Layout& layout, int64_t stage,
                        OptimizerKind optimizer, int64_t moment_bytes);

// Bytes of one micro-batch.
struct BatchCost {
  Extent embedding;                                    // kept for backward, like the next two
  std::array<Extent, kBlockParts.size()> block_parts;  // one block, with its output
  Extent head;           // last norm, logits, loss; in a value head the last norm
  Extent stream;         // one (B, S, D) of the residual stream: the input of a recomputation
  Extent head_backward;  // temporaries when backward starts, beyond the kept tensors
  // Temporaries without gradients, each at one instant.
  Extent forward_softmax;       // in eager attention
  Extent forward_feed_forward;  // in SwiGLU
  Extent forward_head;          // logits and their log-softmax

  Extent core_recomputed;  // in one block under selective checkpointing

  // Kept by one block after its forward, unless the whole block is recomputed.
  Extent block_kept(CheckpointKind checkpoint = CheckpointKind::kNone) const;
  // Empty with BF16 weights: no node saves the residual stream then.
  Extent block_output() const { return part(BlockPart::kOutput); }
  Extent part(BlockPart part) const { return block_parts[static_cast<size_t>(part)]; }
};
struct BatchShape {
  int64_t sequences = 0;
  int64_t tokens = 0;  // per sequence
  Attention attention = Attention::kSdpa;
  Precision precision = Precision::kBf16;
  WeightType weights = WeightType::kFp32;  // kBf16 requires precision kFp32, as in a run
};
BatchCost batch_cost(const ModelConfig& config, Head head, const BatchShape& shape);

// A training step of that micro-batch that keeps everything, on a card without a name.
RunSpec run_spec(const ModelConfig& config, const BatchShape& shape);

}  // namespace headroom
