// Checks whether a process that is not our child runs, and waits for effects of other processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/files/scratch_directory.h"

namespace headroom {

// True as soon as `condition` is; false if it was not within a minute.
template <typename Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Gone, or a zombie that was not reaped.
inline bool has_ended(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end).starts_with(") Z");
}

// A kill takes effect a moment after it is sent.
inline bool is_dead(pid_t pid) {
  return eventually([pid] { return has_ended(pid); });
}

}  // namespace headroom
