// Signals that end the process: its reports are written first.
//
// Note [Ending signals]
// Rationale: a hung program is stopped by SIGINT or SIGTERM (^C, timeout, a job scheduler), and its
//   figures up to then are needed. A signal handler may neither allocate nor lock.
// Approach: once a process uses CUDA and reports are on, each signal below whose disposition is the
//   default gets a handler that wakes a thread and returns. The interrupted code continues and
//   releases its locks until it reads from the card; there it waits, so that a busy program leaves
//   its interpreter to the hook. A second thread calls Python's hook and writes the reports, and
//   the first waits kGraceSeconds, and longer while the second computes; then the process dies by
//   the signal with the default disposition. A signal that the process sends to itself does not
//   return: Python ends this way after a KeyboardInterrupt, and os.kill(os.getpid(), SIGTERM) holds
//   the interpreter's lock, which the handler releases for the hook. sigaction() and signal() are
//   defined here so that the program sees the default instead of our handler, and sets ours when it
//   sets the default; a handler of the program's own, or SIG_IGN, stays. A child of fork or vfork
//   is another process and dies as it would have.
// Limits: while the reports are written, a program that reads nothing continues. SIGKILL leaves
//   nothing.
#pragma once

namespace virtual_gpu {

constexpr int kGraceSeconds = 30;  // a snapshot takes long on a busy machine

// The signal that is ending this process; 0 if none.
int ending_signal();

// Does not return while the process is ending.
void wait_if_ending();

}  // namespace virtual_gpu

// Sets the function to call, on our own thread, before the reports are written: a Python program's
// hook writes its own. nullptr: none.
extern "C" void virtual_gpu_on_ending(void (*callback)(int signal));
