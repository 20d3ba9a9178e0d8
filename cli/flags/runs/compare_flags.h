// The flags of headroom compare. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "profiling/compare/comparison.h"
#include "profiling/compare/gate.h"
#include "profiling/snapshot/analysis/divergence.h"
#include "text/table.h"

namespace headroom {

inline constexpr const char* kCompareExample = "headroom compare before.jsonl after.jsonl";

struct CompareRequest {
  std::vector<std::string> runs;   // two commands, or none
  std::vector<std::string> files;  // two, if there are no commands
  int64_t rounds = 7;
  CompareOptions options;
  ShownFrames frames = ShownFrames::kOwn;
  size_t limit = 10;  // of lines of code
  Gate gate;
  TableFormat format = TableFormat::kText;
  std::string output;
};

CommandLine compare_command_line();

// runs: the texts of --run. Throws UsageError, and std::runtime_error if --output is not writable.
CompareRequest compare_from(const Arguments& arguments, std::vector<std::string> runs);

}  // namespace headroom
