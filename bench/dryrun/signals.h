// Signals while a program of the user's runs. No torch here.
//
// Note [Signals to both]
// Rationale: ^C and `timeout` send their signal to the whole process group: the program has it
//   already, and must not have it twice (a second one breaks off the handling of the first).
//   `kill PID` and a job scheduler send it to us alone: then it is to be handed on. Neither may end
//   us before the report.
// Approach: we hold the signals and take them one by one. A child of ours stands in the group for
//   nothing else than to be ended by them: when it ends, the group had the signal. A terminal's
//   come from the kernel, and are never for us alone.
// Limits: a program in a process group of its own has a signal that the group had from nobody.
#pragma once

#include <sys/types.h>

#include <csignal>

namespace headroom {

// While it lives, SIGINT, SIGQUIT, SIGTERM and SIGHUP wait; those that are left are dropped.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // What programs that we start are to have.
  const sigset_t& previous_mask() const { return previous_mask_; }
  // With SIGCHLD.
  const sigset_t& held() const { return held_; }
  // Whether one of the four comes; blocks that long.
  bool comes_within(double seconds) const;
  // One that waits, if there is one.
  void drop(int number) const;

 private:
  sigset_t held_;
  sigset_t previous_mask_;
  struct sigaction previous_child_;
};

struct Ending {
  int status = 0;  // as waitpid() has it
  int signal = 0;  // the last that came while it ran; 0 = none
};

// Blocks until our child `pid` ended.
Ending wait_handing_on(pid_t pid, const HeldSignals& signals);

}  // namespace headroom
