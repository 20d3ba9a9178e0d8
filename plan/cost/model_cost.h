// One model's rows of theory, added up by what tensor parallelism does to them. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/parameter_table.h"
#include "plan/cost/layout.h"
#include "profiling/theory/activations/head.h"
#include "profiling/theory/rows.h"
#include "train/optim/table.h"
#include "train/vocabulary/checkpoint.h"

namespace headroom {

// A quantity (elements or bytes) of one model or micro-batch, by how a rank's part of it comes
// about. Megatron-LM's split: attention by heads, feed-forward by d_ff, token table and output head
// by vocabulary; norms and the residual stream stay whole.
struct Extent {
  int64_t split = 0;       // divided by tp
  int64_t vocabulary = 0;  // per row of the vocabulary; rows are divided, the first rank has most
  int64_t sequence = 0;    // whole on every rank, or divided by tp under sequence parallelism
  int64_t whole = 0;       // on every rank

  Extent& operator+=(const Extent& other);
  friend Extent operator+(Extent a, const Extent& b) { return a += b; }
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(int64_t times, const Extent& extent);
  // Of the first rank, which has the most.
  int64_t on_rank(const Layout& layout, int64_t vocab_size) const;
};

// One parameter tensor; of a block's, there is one in each layer.
struct ParameterTensor {
  ModelSection section = ModelSection::kBlock;
  Extent elements;
  Extent hidden;  // of the elements, those in matrices of blocks: train/optim/table.h
  Extent blocks;  // Adam-mini's: train/optim/partition.h
};

// Numbers of parameters.
struct ModelElements {
  ModelConfig config;
  Head head = Head::kLanguage;
  Extent embedding, block, final;
  std::vector<ParameterTensor> tensors;  // whose elements are those three
  int64_t total() const;
};
ModelElements model_elements(const ModelConfig& config, Head head);

// What one rank of one pipeline stage holds of a model, in parameters.
struct StageElements {
  int64_t embedding = 0, block = 0, final = 0;  // 0 where the stage has none
  int64_t layers = 0;

  int64_t total() const { return embedding + layers * block + final; }
  // The two largest neighbours in order of execution: what is gathered at once when the next unit
  // is fetched while one computes.
  int64_t largest_neighbours() const;
};
StageElements stage_elements(const ModelElements& model, const Layout& layout, int64_t stage);

// What an optimizer keeps of one stage's parameters on a rank, in bytes: tensor by tensor, or,
// where ZeRO shards it over replicas, of the first replica's part of all of them in one.
int64_t optimizer_bytes(const ModelElements& model, const Layout& layout, int64_t stage,
                        OptimizerKind optimizer, int64_t moment_bytes);

// What one micro-batch takes, in bytes.
struct BatchCost {
  Extent embedding;                                    // kept for backward, like the next two
  std::array<Extent, kBlockParts.size()> block_parts;  // of one block, its output included
  Extent head;           // last norm, logits, loss; of a value head the last norm
  Extent stream;         // one (B, S, D) of the residual stream: what a recomputation begins with
  Extent head_backward;  // temporaries when backward starts, beyond what is kept
  // Temporaries without gradients, at one instant each.
  Extent forward_softmax;       // in eager attention
  Extent forward_feed_forward;  // in SwiGLU
  Extent forward_head;          // logits and their log-softmax

  Extent core_recomputed;  // of one block under selective checkpointing

  // Of one block whose forward has ended and that is not computed again as a whole.
  Extent block_kept(CheckpointKind checkpoint = CheckpointKind::kNone) const;
  // Empty with BF16 weights, where no node saves the residual stream.
  Extent block_output() const { return part(BlockPart::kOutput); }
  Extent part(BlockPart part) const { return block_parts[static_cast<size_t>(part)]; }
};
struct BatchShape {
  int64_t sequences = 0;
  int64_t tokens = 0;  // of one sequence
  Attention attention = Attention::kSdpa;
  Precision precision = Precision::kBf16;
  WeightType weights = WeightType::kFp32;  // kBf16 wants precision kFp32, as a run does
};
BatchCost batch_cost(const ModelConfig& config, Head head, const BatchShape& shape);

// A training step of that micro-batch that keeps everything, on a card that is not known by name.
RunSpec run_spec(const ModelConfig& config, const BatchShape& shape);

}  // namespace headroom
