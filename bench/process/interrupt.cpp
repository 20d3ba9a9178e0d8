#include "bench/process/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace headroom {
namespace {

// Globals, because a signal handler has no other state.
volatile std::sig_atomic_t raised = 0;
volatile std::sig_atomic_t descriptor = -1;

void on_signal(int) {
  const int saved_errno = errno;
  raised = 1;
  const uint64_t one = 1;
  // It never fills, and the handler could not react if it did.
  [[maybe_unused]] const ssize_t written = write(descriptor, &one, sizeof(one));
  errno = saved_errno;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  raised = 0;
  descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = on_signal;
  // The second signal has the default action again. No SA_RESTART: the first must interrupt a write
  // that waits for a reader.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &previous_int_);
  // A shell script's background job starts with SIGINT ignored, and keeps ignoring it.
  if (previous_int_.sa_handler == SIG_IGN) sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &action, &previous_term_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
  raised = 0;
}

bool interrupted() { return raised != 0; }

int interrupt_descriptor() { return descriptor; }

void leave_signals_to_other_threads() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace headroom
