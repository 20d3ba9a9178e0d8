// Two peaks of one configuration by category, FP32 and autocast. No torch here.
#pragma once

#include <string>

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// One row per category, and notes from these numbers: bytes that autocast saves, adds and cannot
// change. Both Records are ok.
Table breakdown_table(const Record& fp32, const Record& autocast);

std::string upper_word(Precision precision);  // "BF16"

}  // namespace headroom
