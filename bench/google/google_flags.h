// The flags of Google Benchmark, checked before the library sees them. No torch here.
//
// Note [Google Benchmark's flags]
// Rationale: the library (1.7.1) answers a bad word with its usage and exit code 0, a bad number
//   with a line and the default, and opens --benchmark_out itself, truncating what was there.
// Approach: one table of its flags; each value is read with our parsers, unknown ones are refused
//   with the nearest name. --benchmark_out is kept from the library: it writes to memory, and the
//   program writes the file whole at the end (bench/google/bench_main.cpp).
// Limits: the table is 1.7.1's; a flag of a later version is unknown here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

struct GoogleFlags {
  std::vector<std::string> arguments;  // for benchmark::Initialize, --benchmark_out excepted
  std::string out;                     // --benchmark_out; "" = none
  std::string format = "console";      // of stdout
  std::string out_format = "json";
  bool list_tests = false;
  bool has_min_time = false;  // iterations are searched for, not fixed
};

// "--benchmark_..." or "--v=...".
bool is_google_flag(const std::string& argument);

// Every argument is one of is_google_flag(). The library's environment variables ($BENCHMARK_OUT
// for
// --benchmark_out, and so on) count too. Throws UsageError.
GoogleFlags google_flags(const std::vector<std::string>& arguments);

std::vector<std::string> google_flag_names();  // "--benchmark_filter", ...

// How many of `names` the library would run under the regular expression `filter`. Throws
// UsageError when there are none, or the expression is none.
size_t count_matches(const std::string& filter, const std::vector<std::string>& names);

}  // namespace headroom
