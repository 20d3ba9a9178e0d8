#include "virtual_gpu/report/ending_signal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <type_traits>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/report/ending.h"
#include "virtual_gpu/report/libc_function.h"

namespace virtual_gpu {
namespace {

constexpr std::array kSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};

using Action = struct sigaction;
constinit LibcFunction<int, int, const Action*, Action*> libc_sigaction("sigaction");
constinit LibcFunction<sighandler_t, int, sighandler_t> libc_signal("signal");

std::atomic<bool> is_watching{false};
std::atomic<int> ended_by{0};
std::atomic<void (*)(int)> on_ending{nullptr};
sem_t is_wanted;
sem_t is_written;

__attribute__((constructor)) void find_all() {
  libc_sigaction.find();
  libc_signal.find();
}

// Dies with the default disposition, whatever it was before. Async-signal-safe.
[[noreturn]] void die_by(int number) {
  Action standard{};
  standard.sa_handler = SIG_DFL;
  libc_sigaction(number, &standard, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (;;) raise(number);
}

// Python's functions, found by the hook: a program that signals itself holds the interpreter's
// lock, which the hook needs.
struct Interpreter {
  int (*is_there)() = nullptr;
  int (*has_lock)() = nullptr;
  void* (*save_thread)() = nullptr;

  void find() {
    const auto function = [](const char* name, auto& into) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(dlsym(RTLD_DEFAULT, name));
    };
    function("Py_IsInitialized", is_there);
    function("PyGILState_Check", has_lock);
    function("PyEval_SaveThread", save_thread);
  }
  // The calling thread does not return to Python.
  void leave() const {
    if (is_there == nullptr || has_lock == nullptr || save_thread == nullptr) return;
    if (is_there() != 0 && has_lock() != 0) save_thread();
  }
};
Interpreter interpreter;

void on_signal(int number, siginfo_t* info, void*) {
  const int error = errno;
  if (!Machine::is_of_this_process()) die_by(number);
  int none = 0;
  if (ended_by.compare_exchange_strong(none, number)) sem_post(&is_wanted);
  if (info->si_code <= 0 && info->si_pid == getpid()) {
    interpreter.leave();
    for (;;) pause();
  }
  errno = error;
}

Action our_action() {
  Action action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  return action;
}

bool is_ours(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

bool is_watched(int number) {
  return is_watching && Machine::is_of_this_process() &&
         std::find(kSignals.begin(), kSignals.end(), number) != kSignals.end();
}

// Each runs on its own thread. Python's hook may wait for an interpreter that is stuck.
void* write_all(void*) {
  if (auto* callback = on_ending.load()) callback(ended_by);
  report_ending();
  sem_post(&is_written);
  return nullptr;
}

void* write_without_hook(void*) {
  report_ending();
  sem_post(&is_written);
  return nullptr;
}

// Seconds that a thread has computed; 0 where it has ended.
double computed_seconds(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool is_written_within(int seconds) {
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += seconds;
  int result = 0;
  do {
    result = sem_timedwait(&is_written, &deadline);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Waits as long as the writer computes: a busy machine gives it little time. One that waits for an
// interpreter wakes 200 times a second, which is less than a hundredth of a processor.
bool is_done_in_time(void* (*write)(void*), int seconds) {
  pthread_t writer;
  if (pthread_create(&writer, nullptr, write, nullptr) != 0) return false;
  clockid_t clock;
  const bool has_clock = pthread_getcpuclockid(writer, &clock) == 0;
  pthread_detach(writer);
  double before = 0;
  while (!is_written_within(seconds)) {
    const double computed = has_clock ? computed_seconds(clock) : 0;
    if (computed - before < 0.01 * seconds) return false;
    before = computed;
  }
  return true;
}

void* await_signal(void*) {
  while (sem_wait(&is_wanted) != 0) {
  }
  mark_ending();
  if (!is_done_in_time(write_all, kGraceSeconds)) is_done_in_time(write_without_hook, 2);
  die_by(ended_by);
}

// The thread blocks all signals: they are for the program's threads.
bool start_waiting() {
  sem_init(&is_wanted, 0, 0);
  sem_init(&is_written, 0, 0);
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_t waiter;
  const bool is_started = pthread_create(&waiter, nullptr, await_signal, nullptr) == 0;
  if (is_started) pthread_detach(waiter);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return is_started;
}

}  // namespace

int ending_signal() { return ended_by; }

void wait_if_ending() {
  while (ended_by.load(std::memory_order_relaxed) != 0) pause();
}

}  // namespace virtual_gpu

using namespace virtual_gpu;

void virtual_gpu_on_ending(void (*callback)(int)) {
  interpreter.find();
  on_ending = callback;
}

void virtual_gpu_machine_made(const char* stem) {
  if (stem[0] == '\0') return;
  mark_running(stem);
  if (!start_waiting()) return;
  is_watching = true;
  for (const int number : kSignals) {
    Action present;
    if (libc_sigaction(number, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) continue;
    const Action ours = our_action();
    libc_sigaction(number, &ours, nullptr);
  }
}

extern "C" {

int sigaction(int number, const Action* wanted, Action* previous) noexcept {
  const Action ours = our_action();
  const bool is_default = wanted != nullptr && wanted->sa_handler == SIG_DFL;
  const int result =
      libc_sigaction(number, is_default && is_watched(number) ? &ours : wanted, previous);
  if (result == 0 && previous != nullptr && is_ours(*previous)) {
    *previous = Action{};
    previous->sa_handler = SIG_DFL;
  }
  return result;
}

sighandler_t signal(int number, sighandler_t wanted) noexcept {
  if (!is_watched(number)) return libc_signal(number, wanted);
  Action previous;
  if (libc_sigaction(number, nullptr, &previous) != 0) return SIG_ERR;
  sighandler_t was = is_ours(previous) ? SIG_DFL : previous.sa_handler;
  if (wanted != SIG_DFL) {
    return libc_signal(number, wanted) == SIG_ERR ? SIG_ERR : was;
  }
  const Action ours = our_action();
  return libc_sigaction(number, &ours, nullptr) == 0 ? was : SIG_ERR;
}

}  // extern "C"
