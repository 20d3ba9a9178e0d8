// The search for a set-up that fits: the cheapest layouts and techniques, with the reason of each.
// No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"

namespace headroom {

// Note [The order of costs]
// Rationale: techniques differ in what they cost, and steps of unknown time cannot be added up. An
//   order can: a set-up is cheaper than another when it does without the dearest thing that only
//   one of them needs.
// Approach: costs are compared from the dearest technique down (lexicographically):
//     optimizer offload   states of every step go over the host link, the host updates
//     pipeline stages     bubbles of (pp - 1) / (micro-batches + pp - 1)
//     swapped phases      states go over the host link, some times an iteration
//     ZeRO-3              weights are gathered for each pass: 1.5 times the bytes between GPUs
//     checkpointing       blocks are computed twice: a third more arithmetic
//     reference offload   one model's weights over the host link, once an iteration
//     tensor parallelism  four all-reduces a layer, within the node
//     micro-batches       more and smaller matrix products
//     ZeRO-1, ZeRO-2      the same bytes between GPUs as without
//   Each level of one (tp 2, 4, 8) counts. Sequence parallelism comes with tensor parallelism: it
//   sends the same bytes.
// Limits: an order, not seconds.
enum class Technique {
  kOptimizerOffload,
  kPipeline,
  kSwapPhases,
  kZero3,
  kCheckpoint,
  kReferenceOffload,
  kTensorParallel,
  kMicroBatches,
  kZero12,
};
inline constexpr std::array kTechniqueNames = {
    "optimizer offload", "pipeline",           "swapped phases", "ZeRO-3",      "checkpointing",
    "reference offload", "tensor parallelism", "micro-batches",  "ZeRO-1 and 2"};
inline constexpr size_t kTechniques = kTechniqueNames.size();
using Cost = std::array<int64_t, kTechniques>;  // level of each; dearest first
Cost cost_of(const RlhfSpec& spec, const RlhfSetup& setup);

struct Reason {
  std::string technique;  // "checkpoint full"
  std::string why;        // "checkpoint none is short by 12.3 GiB per GPU in training"
};

struct Recommended {
  RlhfSpec spec;  // with the set-up
  RankMemory worst;
  RlhfPhase phase = RlhfPhase::kTraining;  // the fullest
  int64_t peak = 0;                        // bytes on the worst rank
  std::vector<Reason> reasons;             // one per technique in use
  int64_t margin() const { return spec.card.total_bytes - peak; }
};

struct Recommendation {
  // The cheapest that fit, none of which is another one with something added.
  std::vector<Recommended> fitting;
  // When none fits: the one with the lowest peak, rows added up, and the fewest GPUs (doubled until
  // one fits; 0 = not with 65,536) on which one does.
  std::optional<Recommended> nearest;
  int64_t gpus_that_fit = 0;
  int64_t tried = 0;
};

// Tries every set-up of plan/search/setup_space.h; models, batch, sequence, precision, optimizer
// and attention are the spec's.
Recommendation recommend(const RlhfSpec& spec, size_t most = 3);

}  // namespace headroom
