// The most that a step has allocated at once, and what is alive then. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/theory/activations/head.h"
#include "profiling/theory/rows.h"

namespace headroom {

// Groups of what is alive beside those of rows.h.
inline constexpr const char* kActivations = "activations";  // made by the forward and the loss
inline constexpr const char* kTemporaries = "temporaries";  // made by backward
inline constexpr const char* kWorkspaces = "workspaces";    // of cuBLAS
inline constexpr const char* kAllocatorRounding = "allocator rounding";

// Note [Rehearsal]
// Rationale: at its peak a step holds states, what is kept for backward, the gradients there are by
//   then and what one operation needs for a moment. Which operation that is depends on every size:
//   the loss where the vocabulary is large, the softmax where the context is long, the optimizer
//   where both are small. A list of candidates written by hand holds for the shapes it was written
//   for, and the allocator hands out blocks, not bytes.
// Approach: the step is gone through with shapes for tensors (profiling/theory/rehearsal): model/
//   and train/step.cpp statement by statement, each operation making what ATen makes, each node
//   saving what autograd saves, backward in the engine's order, the update as its optimizer and
//   what stands between it and BF16 weights. Every storage takes its block by the allocator's
//   rules, its segments theirs by the driver's, and the fullest instant is known by the operation
//   that made it so.
// Limits: an NVIDIA card (real or virtual; the peak with room to spare), libtorch's default
//   settings of the allocator, the native one. What a kernel takes for itself beside the workspaces
//   of cuBLAS and cuBLASLt and is not listed in rehearsal/ is not counted. Of what is encoded in
//   parts (train/techniques/quantize.h) two parts and the last are gone through: those between find
//   the allocator as they leave it. Held by tests/virtual_gpu/peak_test.py, within 0.1 % for each
//   technique and 0.5 % for combinations.
struct Peak {
  int64_t allocated = 0;  // bytes, as Record.peak has them
  int64_t requested = 0;  // of the same storages, before the allocator's rounding
  std::string where;      // "backward, block 31: DivBackward0"
  // What is alive: storages of one group, place and size in one row; then what the allocator adds.
  std::vector<Row> rows;
};

// Settings that the rehearsal of a step does not follow, as flags; generation's are not looked at.
std::vector<std::string> flags_not_followed(const RunSpec& spec);

// Whether predicted_peak() knows the device and the allocator's settings.
bool has_predicted_peak(const RunSpec& spec);

// A head other than a language model's is a plan's: no run has it.
// rank: whose of the spec's mesh.
Peak predicted_peak(const RunSpec& spec, Head head = Head::kLanguage, int64_t rank = 0);

// A value of spec.alloc_conf.
inline constexpr const char* kExpandableSegments = "expandable_segments:True";

// Whether all steps go through where the allocator may take so many bytes of the card: a peak that
// is below them may not, because what is free is in pieces. Of a spec that has_predicted_peak()
// knows, with the allocator's default settings or with kExpandableSegments.
// rank: whose of the spec's mesh.
bool rehearsed_to_fit(const RunSpec& spec, int64_t bytes, int64_t rank = 0);

}  // namespace headroom
