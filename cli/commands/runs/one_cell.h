// Shared parts of the commands that run one cell. No torch here.
#pragma once

#include "bench/launch/cell.h"
#include "cli/exit_code.h"
#include "profiling/record/record.h"

namespace headroom {

// Throws std::runtime_error with one line if the cell program is not executable.
void check_cell_program(const CellOptions& options);

// One line on stderr with status and reason, unless the cell succeeded.
void log_failure(const Record& record);

// The command's exit code.
ExitCode exit_code_of(const Record& record);

}  // namespace headroom
