// What the commands share that run one cell. No torch here.
#pragma once

#include "bench/launch/cell.h"
#include "cli/exit_code.h"
#include "profiling/record/record.h"

namespace headroom {

// Throws std::runtime_error with one line where the program that would run it cannot be run.
void check_cell_program(const CellOptions& options);

// Where the cell did not end well, how and why: one line on stderr.
void log_failure(const Record& record);

// What the command ends with.
ExitCode exit_code_of(const Record& record);

}  // namespace headroom
