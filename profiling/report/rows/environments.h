// Where results of equal settings part: the conditions and the machine they were measured in. No
// torch here.
#pragma once

#include <map>
#include <string>

#include "profiling/record.h"
#include "profiling/report/rows/select.h"

namespace headroom {

// What tells rows of equal settings apart, for all rows: "CUBLAS_WORKSPACE_CONFIG=:0:0". Empty
// where no two rows have equal settings.
using EnvironmentLabels = std::map<const Record*, std::string>;
EnvironmentLabels environment_labels(const RecordPointers& shown);

}  // namespace headroom
