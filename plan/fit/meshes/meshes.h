// Every mesh of a number of GPUs that a run can use. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/search/cost_order.h"
#include "train/settings/spec.h"

namespace headroom {

// Note [Meshes]
// Rationale: on several GPUs the layout of the model is a technique like the others: it lowers the
//   fullest GPU's peak and costs communication between GPUs.
// Approach: level 0 is replicas alone. tp divides key/value heads and d_ff and stays within a host,
//   pp has a layer for every stage and a micro-batch, ZeRO is tried where there are replicas. Ranks
//   of tp split tokens where tp divides the context: that sends the same bytes. Costs are those of
//   the search of `headroom rlhf`.
//   --batch-size is one replica's, as in `headroom profile --mesh`: a mesh of more replicas does
//   more in a step. --global-batch-size is that of all replicas: each takes an equal part, and
//   meshes whose replicas do not divide it are excluded. Then all answers compute the same step.
//   If the batch is open, a replica of stages has as many micro-batches as stages, the fewest that
//   give each stage work; if the context is open, ranks of tp always split tokens.
// Limits: the schedule of stages is 1f1b unless another is given.
struct MeshQuestion {
  int64_t gpus = 1;          // 1: there are no meshes
  int64_t global_batch = 0;  // sequences of all replicas; 0: base.batch_size is per replica
  // The open setting; runs then have a value that is valid with every searched technique.
  bool batch_is_open = false;
  bool context_is_open = false;
  bool keeps_mesh = false;  // the base's mesh was given and stays; likewise below
  bool keeps_zero = false;
  bool keeps_token_split = false;
  std::vector<Technique> techniques;  // allowed ones of the four that spread a model
};

// The base on one mesh.
struct MeshRun {
  RunSpec spec;
  Cost cost{};
  std::string words;  // "dp=2,tp=4, ZeRO-1"
};

// The meshes that validate() accepts. `refused`: the reason for the last refusal.
std::vector<MeshRun> mesh_runs(const RunSpec& base, const MeshQuestion& question,
                               std::string* refused = nullptr);

// A number of sequences or tokens that is valid for every technique: FP8 products need multiples of
// 16 tokens.
inline constexpr int64_t kAnyStride = 16;

// Sequences of all replicas in one step.
inline int64_t global_batch(const RunSpec& spec) {
  return spec.batch_size * spec.mesh.size(MeshAxis::kData);
}

}  // namespace headroom
