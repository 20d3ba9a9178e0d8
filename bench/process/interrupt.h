// ^C and SIGTERM while cells run.
//
// Note [Interrupts]
// Rationale: ^C must end a long sweep at once, keep every finished row, and still let the caller
//   print tables of these rows. Otherwise it must end the program as usual: a program that reads
//   from an idle pipe, or computes for minutes, has nothing to lose.
// Approach: signals have their default action except during a guard's lifetime, and a guard exists
//   only while cells run. Its handler sets a flag and an event descriptor. run_command() polls the
//   descriptor and kills the cell's process group; run_sweep() writes no row for that cell (the
//   next run measures it) and returns with interrupted = true; the program prints its tables and
//   exits 130. A second ^C ends the program at once; rows are synced one by one, so they stay.
// Limits: one guard at a time. A killed cell may leave its temporary file. A write that blocks on
//   an unread stderr is abandoned at the first signal, and its line lost.
#pragma once

#include <csignal>

namespace headroom {

// During its lifetime SIGINT and SIGTERM set the flag. Used around code that runs cells.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction previous_int_;
  struct sigaction previous_term_;
};

// True if SIGINT or SIGTERM arrived since the guard was created. False without a guard.
bool interrupted();

// Readable once interrupted() is true; -1 without a guard. For poll().
int interrupt_descriptor();

// Called in a thread that waits for programs: signals then go to the printing thread, and interrupt
// its write to an unread stderr.
void leave_signals_to_other_threads();

constexpr int kInterruptedExitCode = 130;

}  // namespace headroom
