// Losses that are no numbers. No torch here.
#pragma once

#include "profiling/record/record.h"

namespace headroom {

// A note and a line on stderr where a measured step's loss is NaN or infinite: such a step takes
// the same time and memory, so nothing else would tell.
void note_losses(Record& record);

}  // namespace headroom
