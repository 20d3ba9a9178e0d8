// Every mesh that so many GPUs can be for a run. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/search/cost_order.h"
#include "train/spec.h"

namespace headroom {

// Note [Meshes]
// Rationale: on several GPUs how the model is spread is a technique like the others: it lowers the
//   fullest GPU's peak, and costs what goes between GPUs.
// Approach: level 0 is replicas alone. tp divides key/value heads and d_ff and stays within a host,
//   pp has a layer for every stage and a micro-batch, ZeRO is tried where there are replicas. Ranks
//   of tp split tokens where these divide the context: that sends the same bytes. Costs are those
//   of the search of `headroom rlhf`.
//   --batch-size is one replica's, as in `headroom profile --mesh`: a mesh of more replicas does
//   more in a step. --global-batch-size is all replicas' together: each has its part of it, and
//   meshes whose replicas do not divide it are out. Then all answers compute the same step.
//   Where the batch is what is asked a replica of stages has as many micro-batches as stages, the
//   fewest with which all of them work; where the context is, ranks of tp always split tokens.
// Limits: the schedule of stages is 1f1b unless one is typed.
struct MeshQuestion {
  int64_t gpus = 1;          // 1: there are no meshes
  int64_t global_batch = 0;  // sequences of all replicas; 0: the base's batch is each one's
  // What is asked; then runs have a value with which everything that is searched can be made.
  bool batch_is_open = false;
  bool context_is_open = false;
  bool keeps_mesh = false;  // the base's, which was typed; likewise below
  bool keeps_zero = false;
  bool keeps_token_split = false;
  std::vector<Technique> techniques;  // that may be used, of the four that spread a model
};

// The base on one of them.
struct MeshRun {
  RunSpec spec;
  Cost cost{};
  std::string words;  // "dp=2,tp=4, ZeRO-1"
};

// Those that validate() takes. `refused`: why the last of the others is none.
std::vector<MeshRun> mesh_runs(const RunSpec& base, const MeshQuestion& question,
                               std::string* refused = nullptr);

// A number of sequences, or of tokens, with which every technique can be: FP8 products want tokens
// in sixteens.
inline constexpr int64_t kAnyStride = 16;

// Sequences of all replicas in one step.
inline int64_t global_batch(const RunSpec& spec) {
  return spec.batch_size * spec.mesh.size(MeshAxis::kData);
}

}  // namespace headroom
