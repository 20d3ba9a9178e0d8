// The uses of memory and the steps that a program itself names. No torch here.
//
// Note [Named by the program]
// Rationale: an optimizer that is not libtorch's keeps its states where nothing finds them, and in
//   C++ nothing says when it steps.
// Approach: libheadroom_blocks.so exports three C functions, which a program looks up at run time
//   and calls if they are there (docs/programs/dryrun.md). A name is of the block at that address,
//   for all of its life; the later of two counts, and more than every tag.
// Limits: the functions are there under `headroom dryrun --breakdown` alone.
#pragma once

namespace headroom {

// Hears of the names from now on.
void hear_names();

}  // namespace headroom
