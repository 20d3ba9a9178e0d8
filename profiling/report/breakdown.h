// Two peaks of one configuration taken apart, FP32 and autocast. No torch here.
#pragma once

#include <string>

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// One row per category, and sentences that say from these numbers what autocast saves, what it adds
// and what it cannot touch. Both Records are ok.
Table breakdown_table(const Record& fp32, const Record& autocast);

std::string upper_word(Precision precision);  // "BF16"

}  // namespace headroom
