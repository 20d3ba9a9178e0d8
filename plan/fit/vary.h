// Finds the largest value with which an arbitrary program runs on a card. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/fit/bracket.h"
#include "text/table.h"

namespace headroom {

// A complete, valid command for error messages.
inline constexpr const char* kVaryCommand =
    "headroom fit --card rtx4090 --vary batch=1..256 -- python train.py --batch-size {batch}";

// --vary batch=1..256: the value replaces {batch} in the program's words.
struct Vary {
  std::string name;
  Range range;
};

// Throws UsageError, also if no word contains {name}; its example is then `command`.
Vary parse_vary(const std::string& typed, const std::vector<std::string>& words,
                const char* command = kVaryCommand);

// The words with {name} replaced by the value.
std::vector<std::string> with_value(std::vector<std::string> words, const Vary& vary,
                                    int64_t value);

// One run of the program.
struct ProgramRun {
  Fits fits = Fits::kUnknown;
  std::optional<int64_t> peak;  // bytes reserved on the fullest card
  std::string reason;           // the last line of a run that failed
};
using RunProgram = std::function<ProgramRun(int64_t value, const std::string& alloc_conf)>;

struct VaryAnswer {
  std::string alloc_conf;            // "" = the environment's, or libtorch's default
  int64_t largest = 0;               // 0 = none
  ProgramRun at;                     // the run of the largest value
  std::optional<ProgramRun> beyond;  // the run of the next value; none at the end of the range
};

struct VaryResult {
  std::vector<VaryAnswer> answers;    // the default first; another only if it reaches further
  std::vector<std::string> failures;  // "batch 64: exit code 1: ValueError: ..."
  bool stopped = false;
};

// Bisects with the first setting, then tries the others one step beyond. A run that fails for a
// reason other than memory ends the search with that setting.
VaryResult search_vary(const Vary& vary, const std::vector<std::string>& alloc_confs,
                       const RunProgram& run, const std::function<bool()>& stopped);

// card: its name, for the title.
Table vary_table(const Vary& vary, const VaryResult& result, const std::string& card);

}  // namespace headroom
