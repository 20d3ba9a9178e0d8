#include "bench/dryrun/signals.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
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

void pause_for(double seconds) {
  const timespec time = timespec_of(seconds);
  nanosleep(&time, nullptr);
}

// The child that detects signals to the group: it holds them back, as its parent does, so that they
// stay pending there, whether or not it gets a processor. Note [Signals to both]
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

  // True if it has this signal within this time.
  bool has_within(int number, double seconds) const {
    constexpr double kStep = 0.005;
    for (double passed = 0; pid_ > 0; passed += kStep) {
      if (has(number)) return true;
      if (passed >= seconds) return false;
      pause_for(kStep);
    }
    return false;
  }

 private:
  [[noreturn]] static void stand() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "headroom-sentry");
    close_range(0, ~0U, 0);  // so that a pipe's reader waits only for us
    for (;;) pause();
  }

  bool has(int number) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("ShdPnd:"))
        return ((std::stoull(line.substr(7), nullptr, 16) >> (number - 1)) & 1) != 0;
    return false;
  }

  pid_t pid_ = 0;
};

// `timeout` signals its child first and then the group of both, and may lose its processor in
// between. Whoever signals the group alone reaches all of it at once.
double seconds_until_the_group_has_it(const siginfo_t& info) {
  const bool is_from_group = info.si_pid > 0 && getpgid(info.si_pid) == getpgrp();
  return is_from_group ? 1 : 0.05;
}

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
    const bool is_of_group = info.si_code == SI_KERNEL ||  // from the terminal
                             sentry->has_within(number, seconds_until_the_group_has_it(info));
    if (is_of_group) {
      pause_for(0.02);  // the group's signal may reach the sentry a moment before it reaches us
      signals.drop(number);  // `timeout` signals us, and then the group
      sentry.emplace();
    }
    if (!is_of_group) kill(pid, number);
  }
}

}  // namespace headroom
