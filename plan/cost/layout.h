// How models are spread over GPUs: what one rank holds of a whole. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "model/config.h"
#include "train/parallel/pipeline/schedule.h"

namespace headroom {

struct Layout {
  int64_t tp = 1;    // GPUs that share every matrix (tensor parallelism)
  int64_t pp = 1;    // pipeline stages, each some layers
  int64_t dp = 1;    // replicas of tp x pp GPUs, each with its own sequences
  int64_t zero = 0;  // sharded over the replicas: 1 optimizer, 2 and gradients, 3 and weights
  bool sequence_parallel = false;  // what tensor parallelism leaves whole is split by tokens

  int64_t ranks() const { return tp * pp * dp; }
};
std::string to_string(const Layout& layout);  // "tp 8, pp 2, dp 4, ZeRO-1"

// GPUs joined by NVLink in a node; tensor parallelism stays within it.
inline constexpr int64_t kGpusPerNode = 8;

// Whether tensor parallelism of this width divides the model: key/value heads (and with them the
// heads) and d_ff.
bool tp_divides(const ModelConfig& config, int64_t tp);

// Throws UsageError naming --tp and the widths that do: one that leaves the node or divides not.
void check_tensor_parallel(int64_t tp, const ModelConfig& config);

// Part `index` of `total` cut into `count` equal pieces, the last ones shorter. Part 0 is the
// largest; the parts sum to the total.
int64_t shard(int64_t total, int64_t count, int64_t index = 0);

// Of what ZeRO shards from that stage on, the part of the first replica, which is the largest;
// below it, all.
int64_t of_replica(const Layout& layout, int64_t elements, int64_t from_zero_stage);

// Micro-batches whose activations a stage holds at once under 1F1B: the stages before the last
// start more of them before the first comes back (Narayanan et al. 2021, section 2.2).
int64_t micro_batches_in_flight(int64_t micro_batches, int64_t pp, int64_t stage);

}  // namespace headroom
