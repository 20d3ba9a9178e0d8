#include "bench/dryrun/signals.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

namespace headroom {
namespace {

constexpr std::array kSignals = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

timespec timespec_of(double seconds) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  return time;
}

// The child that detects signals to the group. Note [Signals to both]
class Sentry {
 public:
  Sentry() {
    pid_ = fork();
    if (pid_ == 0) stand();
  }
  ~Sentry() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sentry(const Sentry&) = delete;
  Sentry& operator=(const Sentry&) = delete;

  // True if a signal ends it within this time.
  bool falls_within(double seconds) {
    constexpr double kStep = 0.005;
    for (double passed = 0; pid_ > 0; passed += kStep) {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = 0;
        return true;
      }
      if (passed >= seconds) return false;
      const timespec step = timespec_of(kStep);
      nanosleep(&step, nullptr);
    }
    return false;
  }

 private:
  [[noreturn]] static void stand() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "headroom-sentry");
    for (const int number : kSignals) {
      struct sigaction end {};
      end.sa_handler = [](int) { _exit(0); };
      sigaction(number, &end, nullptr);
    }
    close_range(0, ~0U, 0);  // so that a pipe's reader waits only for us
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (;;) pause();
  }

  pid_t pid_ = 0;
};

}  // namespace

HeldSignals::HeldSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &previous_child_);  // if ignored, a child's status is lost
  sigemptyset(&held_);
  for (const int number : kSignals) sigaddset(&held_, number);
  sigaddset(&held_, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &held_, &previous_mask_);
}

HeldSignals::~HeldSignals() {
  while (comes_within(0)) {
  }
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  sigaction(SIGCHLD, &previous_child_, nullptr);
}

bool HeldSignals::comes_within(double seconds) const {
  sigset_t without_child = held_;
  sigdelset(&without_child, SIGCHLD);
  const timespec time = timespec_of(seconds);
  return sigtimedwait(&without_child, nullptr, &time) > 0;
}

void HeldSignals::drop(int number) const {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  const timespec now{};
  sigtimedwait(&one, nullptr, &now);
}

Ending wait_handing_on(pid_t pid, const HeldSignals& signals) {
  constexpr double kGroupSeconds = 0.1;  // a group's signal reaches the sentry within it
  Ending ending;
  std::optional<Sentry> sentry(std::in_place);
  for (;;) {
    siginfo_t info;
    const int number = sigwaitinfo(&signals.held(), &info);
    if (number < 0) continue;
    if (number == SIGCHLD) {
      if (waitpid(pid, &ending.status, WNOHANG) == pid) return ending;
      continue;
    }
    ending.signal = number;
    const bool is_of_group = sentry->falls_within(kGroupSeconds);
    if (is_of_group) {
      signals.drop(number);  // `timeout` signals us, and then the group
      sentry.emplace();
    }
    if (!is_of_group && info.si_code != SI_KERNEL) kill(pid, number);
  }
}

}  // namespace headroom
