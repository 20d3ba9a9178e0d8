// A peak that falls as the context grows, explained where it is printed. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/rows/row_settings.h"

namespace headroom {

// One note for each mode and group of rows whose allocated peak is lower at a longer
// context, from the figures of the two Records: what the program asked for, and what the allocator
// added.
std::vector<std::string> falling_peak_notes(const RecordPointers& records,
                                            const RowSettings& settings);

}  // namespace headroom
