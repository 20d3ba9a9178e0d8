// How the process of a cell ended, in words. No torch here.
#pragma once

#include <functional>
#include <string>

#include "bench/process/child_process.h"

namespace headroom {

// What a process says on stderr, passed on. Keeps what an exception that nobody caught said: the
// C++ library prints it as "  what():  ..." before it aborts.
class StderrRelay {
 public:
  explicit StderrRelay(const std::function<void(const std::string& line)>& on_line)
      : on_line_(on_line) {}

  std::function<void(const std::string& line)> listener() {
    return [this](const std::string& line) { hear(line); };
  }
  void hear(const std::string& line);
  const std::string& uncaught() const { return uncaught_; }  // "" = nothing

 private:
  const std::function<void(const std::string& line)>& on_line_;
  std::string uncaught_;
};

// Why it ended, where it should not have ended so: "exit code 7", "killed by signal 6 (SIGABRT):
// Unrecognized key 'x'". "" after exit code 0.
std::string ending(const Outcome& outcome, const StderrRelay& talk);

// "exit code 7: the last line it said".
std::string with_last_line(std::string reason, const Outcome& outcome);

// Whether the dynamic loader refused it: libtorch is not where it was when the cell was built.
bool lacks_a_library(const Outcome& outcome);
std::string missing_library(const std::string& program, const Outcome& outcome);  // one line

std::string seconds_text(double seconds);  // "0.25 s"

// The one line of a process's output that is not blank. Throws std::invalid_argument on none or
// several.
std::string only_line(const std::string& output);

}  // namespace headroom
