// Signals while a user's program runs. No torch here.
//
// Note [Signals to both]
// Rationale: ^C and `timeout` signal the whole process group: the program already gets the signal,
//   and must not get it twice (the second one interrupts the handling of the first). `kill PID`
//   and a job scheduler signal only us: then the signal must be forwarded. Neither may end us
//   before the report.
// Approach: we block the signals and accept them one by one. A child of ours in the group blocks
//   them too and accepts none: if a signal is pending there, the group got it. A terminal's signals
//   come from the kernel, and are never sent only to us.
// Limits: a program in its own process group does not get a signal to our group.
#pragma once

#include <sys/types.h>

#include <csignal>

namespace headroom {

// Blocks SIGINT, SIGQUIT, SIGTERM and SIGHUP during its lifetime; drops pending ones at the end.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The mask for programs that we start.
  const sigset_t& previous_mask() const { return previous_mask_; }
  // Includes SIGCHLD.
  const sigset_t& held() const { return held_; }
  // True if one of the four comes; blocks up to that time.
  bool comes_within(double seconds) const;
  // Drops a pending signal, if there is one.
  void drop(int number) const;

 private:
  sigset_t held_;
  sigset_t previous_mask_;
  struct sigaction previous_child_;
};

struct Ending {
  int status = 0;  // of waitpid()
  int signal = 0;  // the last one received during the run; 0 = none
};

// Blocks until our child `pid` ended.
Ending wait_handing_on(pid_t pid, const HeldSignals& signals);

}  // namespace headroom
