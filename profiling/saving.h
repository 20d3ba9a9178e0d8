// When a step made what its backwards need, from the scopes of a recording. No torch here.
//
// Note [Saved for backward]
// Rationale: what autograd keeps has no name of its own; it is what outlives the forward that made
//   it, until a backward has used it up.
// Approach: an allocation is saved when the innermost phase around it is a saving one, no backward
//   is open, and it is alive at the cut: where the next backward begins, or, where none follows,
//   where its phase ends. So passes may alternate, several forwards may wait for one backward, a
//   pass without gradients in their midst saves nothing, and what a backward recomputes is
//   temporary.
// Limits: a forward whose backward is left out counts, if another pass runs a backward later, only
//   what is still alive then.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/tracker/recording.h"

namespace headroom {

// All in event indices.
struct SavingSpan {
  int64_t begin = 0;
  int64_t end = 0;  // the first event that is not in it
  int64_t cut = 0;
};

// One run of a block whose allocations may be saved.
struct BlockRun {
  int64_t index = 0;  // of the block
  int64_t begin = 0;
  int64_t end = 0;
  int64_t cut = 0;
};

// What checkpointing computes again inside a backward: events [begin, end). What it made and what
// is alive at its end is what backward wants of it.
struct Recomputation {
  int64_t begin = 0;
  int64_t end = 0;
};

struct Saving {
  std::vector<SavingSpan> spans;  // apart from each other, in the order of time
  std::vector<BlockRun> blocks;   // in the order in which they ended
  std::vector<Recomputation> recomputations;

  // The span that event `index` is in; nullptr for none.
  const SavingSpan* span_of(int64_t index) const;
};

Saving saving_of(const std::vector<Mark>& marks);

}  // namespace headroom
