// ^C and SIGTERM in a program that runs cells.
//
// Note [Interrupts]
// Rationale: ^C must end a long sweep at once, keep every finished row, and still let the caller
//   print tables of what there is.
// Approach: the handler only raises a flag and a descriptor. run_cell() sees the descriptor in its
//   poll loop and kills the cell's process group; run_sweep() writes no row for that cell (the next
//   run measures it) and returns with interrupted = true; the program prints its tables and
//   exits 130. A second ^C ends the program on the spot; rows are synced one by one, so they stay.
// Limits: one guard at a time. A cell that is killed may leave the temporary file it was writing.
#pragma once

#include <csignal>

namespace headroom {

// While it lives SIGINT and SIGTERM raise the flag, and SIGPIPE is ignored (a reader like `head`
// that goes away must not cost a sweep). Made once, in main().
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction previous_int_;
  struct sigaction previous_term_;
  struct sigaction previous_pipe_;
};

// Whether SIGINT or SIGTERM came since the guard was made. False without a guard.
bool interrupted();

// Readable from the moment interrupted() is true; -1 without a guard. For poll().
int interrupt_descriptor();

constexpr int kInterruptedExitCode = 130;

}  // namespace headroom
