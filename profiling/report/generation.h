// Tokens per second of a generation. No torch here.
#pragma once

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Of the prefill and of the decode, each its tokens over the median of its times.
Table generation_table(const GenerationTimes& times);

}  // namespace headroom
