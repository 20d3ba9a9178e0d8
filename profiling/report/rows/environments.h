// Differences between results of equal settings: conditions and machine. No torch here.
#pragma once

#include <map>
#include <string>

#include "profiling/record/record.h"
#include "profiling/report/rows/select.h"

namespace headroom {

// Labels that distinguish rows of equal settings: "CUBLAS_WORKSPACE_CONFIG=:0:0". Empty if no such
// rows differ.
using EnvironmentLabels = std::map<const Record*, std::string>;
EnvironmentLabels environment_labels(const RecordPointers& shown);

}  // namespace headroom
