// Losses that are NaN or infinite. No torch here.
#pragma once

#include "profiling/record/record.h"

namespace headroom {

// Adds a note and prints a line on stderr if a measured step's loss is NaN or infinite: such a step
// takes the same time and memory, so nothing else would show it.
void note_losses(Record& record);

}  // namespace headroom
