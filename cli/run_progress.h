// The progress of `headroom profile` while its cell runs. No torch here.
#pragma once

#include <chrono>
#include <string>

#include "bench/launch/progress.h"

namespace headroom {

// On a terminal one redrawn line; elsewhere a line when the cell begins, then at most one every ten
// seconds.
class RunProgress {
 public:
  // name: of the run.
  explicit RunProgress(std::string name) : name_(std::move(name)) {}

  void operator()(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::string text_of(const Progress& progress) const;

  std::string name_;
  Clock::time_point first_step_ = {};  // its start
  Clock::time_point said_ = {};
};

}  // namespace headroom
