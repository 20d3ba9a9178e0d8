// The end of a cell's process, in words. No torch here.
#pragma once

#include <functional>
#include <string>

#include "bench/process/child_process.h"

namespace headroom {

// Forwards a process's stderr. Keeps the message of an uncaught exception, which the C++ library
// prints as "  what():  ..." before it aborts.
class StderrRelay {
 public:
  explicit StderrRelay(const std::function<void(const std::string& line)>& on_line)
      : on_line_(on_line) {}

  std::function<void(const std::string& line)> listener() {
    return [this](const std::string& line) { hear(line); };
  }
  void hear(const std::string& line);
  const std::string& uncaught() const { return uncaught_; }  // "" = none

 private:
  const std::function<void(const std::string& line)>& on_line_;
  std::string uncaught_;
};

// The reason of an abnormal end: "exit code 7", "killed by signal 6 (SIGABRT): Unrecognized key
// 'x'". "" after exit code 0.
std::string ending(const Outcome& outcome, const StderrRelay& talk);
std::string ending(const Outcome& outcome);  // without the message of an exception

// "exit code 7: the last line of stderr".
std::string with_last_line(std::string reason, const Outcome& outcome);

// True if the dynamic loader refused it: libtorch has moved since the cell was built, or is of
// another version.
bool lacks_a_library(const Outcome& outcome);
std::string missing_library(const std::string& program, const Outcome& outcome);  // one line

std::string seconds_text(double seconds);  // "0.25 s"

// The only non-blank line of a process's output. Throws std::invalid_argument on none or several.
std::string only_line(const std::string& output);

}  // namespace headroom
