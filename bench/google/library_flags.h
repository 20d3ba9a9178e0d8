// Google Benchmark's own flags, which the library parses. No torch here.
//
// Note [Google Benchmark's flags]
// Rationale: the library (1.7.1) answers a word it does not know with its usage and exit code 0, a
//   bad number with a line and the default, fewer than one repetition by ending the program, and
//   opens --benchmark_out itself, truncating what was there.
// Approach: it is given one argument at a time, so that what it says or leaves is about that one;
//   either makes a UsageError. Numbers are held to a range first. --benchmark_out is said once more
//   behind the user's: a file in memory, which bench_main.cpp writes out whole at the end.
// Limits: what the library takes without a word is taken: --benchmark_color=purple is true. A bad
//   number in its environment is a line on stderr and the default.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headroom {

// "--benchmark_..." or "--v=...".
bool is_library_flag(const std::string& argument);

// The value that counts: the last argument's, else that of the environment ($BENCHMARK_OUT for
// --benchmark_out).
std::optional<std::string> library_value(const std::vector<std::string>& arguments,
                                         const std::string& flag);

// Gives the arguments to the library, which keeps a pointer to `program`. Throws UsageError for
// what it does not take.
void initialize_library(char* program, const std::vector<std::string>& arguments);

}  // namespace headroom
