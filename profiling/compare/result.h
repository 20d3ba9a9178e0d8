// One process's result of one cell, from a file or from a program's output. No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiling/record/record.h"
#include "profiling/record/record_file.h"

namespace headroom {

struct Result {
  std::string name;      // of the cell, for people
  bool has_spec = true;  // false: a benchmark of headroom_bench, which its name identifies
  Record record;         // of a benchmark: environment, times, and its peak if it counted one
  int round = -1;        // of interleaved processes, from 0; -1 = from a file
  bool again = false;    // the round's second process of A
};

// Note [Benchmarks as results]
// headroom_bench writes Google Benchmark's JSON. The repetitions of one benchmark ran in one
// process, so together they are one result; aggregates are left out. The times are per step.

// Limits: all results are kept, about 11 kB for each: a file of a million Records needs 11 GB.

// Records one to a line, or Google Benchmark's JSON. Lines that are neither are passed over: a
// program may print more. Empty if nothing is a result.
std::vector<Result> results_of_output(std::string_view text);

// The same of a file; Records also of a pipe. Throws ReadError, BrokenInput or std::runtime_error
// as read_records() does (profiling/record/record_file.h), also if it holds no result.
std::vector<Result> results_of_file(const std::string& path, SkippedLines* skipped = nullptr);

}  // namespace headroom
