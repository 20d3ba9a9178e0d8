// Data on stdout, and what happens when it does not go through.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/table.h"

namespace headroom {

// A program started with stdout closed would print into the first file it opens. Makes sure that
// descriptors 0 to 2 are taken; those that were closed fail to write. First thing in main().
void hold_standard_descriptors();

// From here on a write that fails is an error with a reason, where the kernel would end the
// program: a pipe whose reader has gone, a limit on file sizes (ulimit -f).
void survive_failed_writes();

// From here on print() goes to stderr: stdout has been asked for by name, for a file.
void print_to_stderr();

// Writes all of it. Quiet when the reader has gone ("| head"); std::runtime_error (one
// line) on any other failure, a full disk for one.
void print(std::string_view text);

// On stdout, as wide as the terminal; or into a file, whole or not at all, where `path` names one.
void print_tables(const std::vector<Table>& tables, TableFormat format,
                  const std::string& path = "");

}  // namespace headroom
