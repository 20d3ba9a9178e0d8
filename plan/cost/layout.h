// The layout of models over GPUs, and one rank's part of a whole. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "model/config.h"
#include "train/parallel/pipeline/schedule.h"

namespace headroom {

struct Layout {
  int64_t tp = 1;    // GPUs that share every matrix (tensor parallelism)
  int64_t pp = 1;    // pipeline stages, each of some layers
  int64_t dp = 1;    // replicas of tp x pp GPUs, each with its own sequences
  int64_t zero = 0;  // sharded over the replicas: 1 optimizer, 2 also gradients, 3 also weights
  bool sequence_parallel = false;  // tensors left whole by tp are split by tokens

  int64_t ranks() const { return tp * pp * dp; }
};
std::string to_string(const Layout& layout);  // "tp 8, pp 2, dp 4, ZeRO-1"

// GPUs joined by NVLink in a node; tensor parallelism stays within it.
inline constexpr int64_t kGpusPerNode = 8;

// True if this width of tensor parallelism divides the key/value heads (and so the heads) and d_ff.
bool tp_divides(const ModelConfig& config, int64_t tp);

// Throws UsageError naming --tp and the allowed widths if tp exceeds a node or does not divide.
void check_tensor_parallel(int64_t tp, const ModelConfig& config);

// Part `index` of `total` cut into `count` equal pieces, the last ones shorter. Part 0 is the
// largest; the parts sum to the total.
int64_t shard(int64_t total, int64_t count, int64_t index = 0);

// Elements on the first replica, which has the largest shard: sharded if the layout's ZeRO stage is
// at least from_zero_stage, else all.
int64_t of_replica(const Layout& layout, int64_t elements, int64_t from_zero_stage);

// Micro-batches whose activations a stage holds at once under 1F1B: earlier stages start more of
// them before the first returns (Narayanan et al. 2021, section 2.2).
int64_t micro_batches_in_flight(int64_t micro_batches, int64_t pp, int64_t stage);

}  // namespace headroom
