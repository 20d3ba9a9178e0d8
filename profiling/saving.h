// The times at which a step makes the tensors for its backwards. No torch here.
//
// Note [Saved for backward]
// Rationale: autograd gives saved tensors no name. They are the tensors that outlive their forward
//   until a backward has used them.
// Approach: an allocation is saved if its innermost phase is a saving one, no backward is open, and
//   it is alive at the cut: the begin of the next backward or, without one, the end of its phase.
//   So passes may alternate, several forwards may wait for one backward, a pass without gradients
//   between them saves nothing, and a backward's recomputation is temporary.
// Limits: of a forward whose backward is left out, only tensors that are still alive at a later
//   backward of another pass count.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/tracker/recording.h"

namespace headroom {

// All in event indices.
struct SavingSpan {
  int64_t begin = 0;
  int64_t end = 0;  // the first event behind it
  int64_t cut = 0;
};

// One run of a block whose allocations may be saved.
struct BlockRun {
  int64_t index = 0;  // of the block
  int64_t begin = 0;
  int64_t end = 0;
  int64_t cut = 0;
};

// A checkpoint's recomputation inside a backward: events [begin, end). Backward needs the blocks
// that it allocated and that are alive at its end.
struct Recomputation {
  int64_t begin = 0;
  int64_t end = 0;
};

struct Saving {
  std::vector<SavingSpan> spans;  // disjoint, in the order of time
  std::vector<BlockRun> blocks;   // in the order of their ends
  std::vector<Recomputation> recomputations;

  // The span that contains event `index`, or nullptr.
  const SavingSpan* span_of(int64_t index) const;
};

Saving saving_of(const std::vector<Mark>& marks);

}  // namespace headroom
