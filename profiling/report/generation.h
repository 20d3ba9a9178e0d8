// What a generation did: tokens, tokens per second, CUDA graphs. No torch here.
#pragma once

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Of the prefill and of the decode: tokens, and where times are real these over their median.
Table generation_table(const GenerationFigures& figures);

}  // namespace headroom
