// Google Benchmark's own flags, which the library parses. No torch here.
//
// Note [Google Benchmark's flags]
// Rationale: the library (1.7.1) answers an unknown argument with its usage and exit code 0, a bad
//   number with a line and the default, fewer than one repetition by ending the program, and opens
//   --benchmark_out itself, truncating the old file.
// Approach: it gets one argument at a time, so that a message or an unconsumed argument is about
//   that one; both become a UsageError. Numbers are checked against a range first. A second
//   --benchmark_out after the user's names a file in memory, which bench_main.cpp writes out whole
//   at the end.
// Limits: everything that the library accepts is accepted: --benchmark_color=purple is true. A bad
//   number in its environment gives a line on stderr and the default.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headroom {

// "--benchmark_..." or "--v=...".
bool is_library_flag(const std::string& argument);

// The effective value: the last argument's, otherwise that of the environment ($BENCHMARK_OUT for
// --benchmark_out).
std::optional<std::string> library_value(const std::vector<std::string>& arguments,
                                         const std::string& flag);

// Passes the arguments to the library, which keeps a pointer to `program`. Throws UsageError for
// those that it refuses.
void initialize_library(char* program, const std::vector<std::string>& arguments);

}  // namespace headroom
