// Where results of equal settings part: the conditions and the machine they were measured in. No
// torch here.
#pragma once

#include <map>
#include <string>

#include "profiling/record.h"
#include "profiling/report/rows/select.h"

namespace headroom {

// Whether a sweep would take one for the other, but for the build of the program: the same
// variables, files, virtual card, place in a process and, where it counts, machine. A Record that
// does not say its conditions (version 1, or of another program) is like any.
bool same_environment(const Record& a, const Record& b);

// What tells rows of equal settings apart, for all rows: "CUBLAS_WORKSPACE_CONFIG=:0:0". Empty
// where no two rows have equal settings.
using EnvironmentLabels = std::map<const Record*, std::string>;
EnvironmentLabels environment_labels(const RecordPointers& shown);

}  // namespace headroom
