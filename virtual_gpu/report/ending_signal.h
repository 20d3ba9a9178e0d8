// A signal that ends the process: its reports are written first.
//
// Note [Ending signals]
// Rationale: who stops a hung program sends SIGINT or SIGTERM (^C, timeout, a job scheduler), and
//   the figures up to then are what he wants. A signal handler may neither allocate nor lock.
// Approach: once a process uses CUDA and somebody wants its report, the signals below whose
//   disposition is the default one get a handler that wakes a thread and returns; whatever was
//   interrupted goes on and gives back the locks it held, until it reads from the card: there it
//   waits, so that a busy program leaves its interpreter to the hook. A second thread asks
//   Python's hook and writes the reports, the first gives it kGraceSeconds; then the process dies
//   by the signal with the default disposition. A signal that the process sends to itself does
//   not return: Python ends so after a KeyboardInterrupt, and os.kill(os.getpid(), SIGTERM) has the
//   interpreter's lock, which the handler gives back for the hook. sigaction() and signal() are
//   defined here so that the program sees the default where we stand, and gets us back when it asks
//   for the default; a handler of the program's, or SIG_IGN, is left alone. A child of fork or
//   vfork is another process and dies as it would have.
// Limits: for as long as the reports take, a program that reads nothing goes on. SIGKILL leaves
//   nothing.
#pragma once

namespace virtual_gpu {

constexpr int kGraceSeconds = 30;  // a snapshot on a busy machine takes its time

// The signal that is ending this process; 0 while none is.
int ending_signal();

// Does not return while the process is ending.
void wait_if_ending();

}  // namespace virtual_gpu

// What to call, on a thread of ours, before the reports are written: the hook of a Python program
// writes what it knows. nullptr: nothing.
extern "C" void virtual_gpu_on_ending(void (*callback)(int signal));
