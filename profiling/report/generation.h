// Figures of a generation: tokens, tokens per second, CUDA graphs. No torch here.
#pragma once

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// Prefill and decode: tokens and, for real times, tokens per second by the median time.
Table generation_table(const GenerationFigures& figures);

}  // namespace headroom
