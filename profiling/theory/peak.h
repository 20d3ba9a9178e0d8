// The peak of a step, and the memory alive then. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/theory/activations/layers/head.h"
#include "profiling/theory/rows.h"

namespace headroom {

// Groups of live memory beside those of rows.h.
inline constexpr const char* kActivations = "activations";  // made by the forward and the loss
inline constexpr const char* kTemporaries = "temporaries";  // made by backward
inline constexpr const char* kWorkspaces = "workspaces";    // of cuBLAS
inline constexpr const char* kAllocatorRounding = "allocator rounding";

// Note [Rehearsal]
// Rationale: at its peak a step holds states, tensors saved for backward, the gradients so far and
//   the temporaries of one operation. That operation depends on every size: the loss for a large
//   vocabulary, the softmax for a long context, the optimizer if both are small. A hand-written
//   list of candidates holds for its own shapes only, and the allocator hands out blocks, not
//   bytes.
// Approach: the step is computed with shapes in place of tensors (profiling/theory/rehearsal):
//   model/ and train/step.cpp statement by statement. Each operation makes what ATen makes, each
//   node saves what autograd saves, backward runs in the engine's order, the update follows its
//   optimizer and the conversion to BF16 weights. Every storage takes its block by the allocator's
//   rules, its segments theirs by the driver's, and the operation of the fullest instant is known.
// Limits: an NVIDIA card (real or virtual; the peak with room to spare), the native allocator of
//   libtorch with default settings. Memory that a kernel takes for itself counts only if it is a
//   workspace of cuBLAS or cuBLASLt, or listed in rehearsal/. Of a tensor encoded in parts
//   (train/techniques/activations/quantize.h) two parts and the last are computed: the parts
//   between leave the allocator as they find it. Checked by tests/virtual_gpu/steps/peak_test.py,
//   within 0.1 % for each technique and 0.5 % for combinations.
struct Peak {
  int64_t allocated = 0;  // bytes, as in Record.peak
  int64_t requested = 0;  // of the same storages, before the allocator's rounding
  std::string where;      // "backward, block 31: DivBackward0"
  // Live storages, those of one group, place and size in one row; then the allocator's rounding.
  std::vector<Row> rows;
};

// Flags of the settings that the rehearsal of a step does not follow, without generation's.
std::vector<std::string> flags_not_followed(const RunSpec& spec);

// True if predicted_peak() follows the spec.
bool has_predicted_peak(const RunSpec& spec);

// Only plans have a head other than a language model's, no run.
// rank: in the spec's mesh.
Peak predicted_peak(const RunSpec& spec, Head head = Head::kLanguage, int64_t rank = 0);

// A value of spec.alloc_conf.
inline constexpr const char* kExpandableSegments = "expandable_segments:True";

// True if all steps fit when the allocator may take `bytes` of the card. A lower peak may not fit,
// because free memory is fragmented. The spec must satisfy has_predicted_peak(); in addition,
// kExpandableSegments is allowed.
// rank: in the spec's mesh.
bool rehearsed_to_fit(const RunSpec& spec, int64_t bytes, int64_t rank = 0);

}  // namespace headroom
