// Explains a peak that falls as the context grows. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/rows/row_settings.h"

namespace headroom {

// One note per mode and group of rows whose allocated peak is lower at a longer context, with the
// figures of both Records: requested bytes, and the rest, which the allocator added.
std::vector<std::string> falling_peak_notes(const RecordPointers& records,
                                            const RowSettings& settings);

}  // namespace headroom
