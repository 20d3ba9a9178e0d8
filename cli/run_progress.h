// What `headroom profile` says while its cell runs. No torch here.
#pragma once

#include <chrono>
#include <string>

#include "bench/launch/progress.h"

namespace headroom {

// On a terminal one line, redrawn; elsewhere a line when the cell begins and one every ten seconds.
class RunProgress {
 public:
  // name: the run's.
  explicit RunProgress(std::string name) : name_(std::move(name)) {}

  void operator()(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::string text_of(const Progress& progress) const;

  std::string name_;
  Clock::time_point first_step_ = {};  // when it began
  Clock::time_point said_ = {};
};

}  // namespace headroom
