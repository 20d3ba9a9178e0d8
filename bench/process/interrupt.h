// ^C and SIGTERM while cells run.
//
// Note [Interrupts]
// Rationale: ^C must end a long sweep at once, keep every finished row, and still let the caller
//   print tables of what there is. Everywhere else it must end the program, as any program: one
//   that reads a pipe nobody writes, or computes for minutes, has nothing to lose.
// Approach: signals have their default action but while a guard lives, and a guard lives only while
//   cells run. Its handler raises a flag and a descriptor. run_command() sees the descriptor in its
//   poll loop and kills the cell's process group; run_sweep() writes no row for that cell (the next
//   run measures it) and returns with interrupted = true; the program prints its tables and
//   exits 130. A second ^C ends the program on the spot; rows are synced one by one, so they stay.
// Limits: one guard at a time. A cell that is killed may leave the temporary file it was writing. A
//   write to a stderr that nobody reads is given up at the first signal, and its line lost.
#pragma once

#include <csignal>

namespace headroom {

// While it lives SIGINT and SIGTERM raise the flag. Made around what runs cells.
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

// Whether SIGINT or SIGTERM came since the guard was made. False without a guard.
bool interrupted();

// Readable from the moment interrupted() is true; -1 without a guard. For poll().
int interrupt_descriptor();

// In a thread that waits for programs: signals then find the thread that prints, whose write to a
// stderr that nobody reads must be given up.
void leave_signals_to_other_threads();

constexpr int kInterruptedExitCode = 130;

}  // namespace headroom
