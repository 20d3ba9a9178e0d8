// --max-peak of `headroom profile`: a test of memory. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/flags/flags.h"
#include "profiling/record/record.h"
#include "train/settings/spec.h"

namespace headroom {

// The line of code at the peak is in the run's snapshot. A run that writes none gets a temporary
// one, which neither its Record nor anybody else sees.
class PeakLimit {
 public:
  static Flag flag();

  // Sets spec.snapshot if it is needed. Throws UsageError.
  PeakLimit(const Arguments& arguments, RunSpec& spec);
  ~PeakLimit();
  PeakLimit(const PeakLimit&) = delete;
  PeakLimit& operator=(const PeakLimit&) = delete;

  // Removes the temporary file's name from the Record of that run.
  void take_back(Record& record) const;

  // The exit code if memory was not within the limit, with a line that says why.
  std::optional<int> exit_code(const Record& record) const;

 private:
  std::optional<int64_t> most_;
  std::string snapshot_;   // "" = the run writes none
  std::string temporary_;  // "" = it is the user's
};

}  // namespace headroom
