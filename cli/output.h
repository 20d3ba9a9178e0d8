// Data on stdout, and the handling of failed writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/table.h"

namespace headroom {

// A program started with stdout closed would print into the first file that it opens. Occupies file
// descriptors 0 to 2; writes to those that were closed fail. Called first in main().
void hold_standard_descriptors();

// From here on a failed write is an error with a reason, instead of the end of the program: a pipe
// with a closed reading end, a file size limit (ulimit -f).
void survive_failed_writes();

// From here on print() goes to stderr, because a file flag names stdout.
void print_to_stderr();

// Writes all of it. Ignores a closed reading end ("| head"); throws std::runtime_error (one line)
// on any other failure, such as a full disk.
void print(std::string_view text);

// "command: vllm serve ...", on lines of the page's width that a shell takes for one command.
void print_command(const std::string& command);

// On stdout, as wide as the terminal; or atomically into the file `path`, if given.
void print_tables(const std::vector<Table>& tables, TableFormat format,
                  const std::string& path = "");

}  // namespace headroom
