#include "bench/launch/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/process/interrupt.h"

namespace headroom {
namespace {

// False if the reading end is closed. SIGPIPE is blocked meanwhile and consumed.
bool write_all(int to, const std::string& text) {
  sigset_t pipe_signal;
  sigset_t before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  bool is_read = true;
  for (size_t done = 0; done < text.size() && is_read;) {
    const ssize_t written = write(to, text.data() + done, text.size() - done);
    if (written > 0) done += static_cast<size_t>(written);
    if (written < 0 && errno != EINTR) is_read = false;
  }
  const timespec now{};
  if (!is_read) sigtimedwait(&pipe_signal, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_read;
}

}  // namespace

CellWorker::CellWorker(std::string program, std::vector<std::string> environment)
    : program_(std::move(program)), environment_(std::move(environment)) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("cannot make a pipe: ") + strerror(errno));
  }
  input_ = ends[1];
  try {
    thread_ = std::thread([this, input = ends[0]] { run(input); });
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
}

CellWorker::~CellWorker() {
  stop_.raise();
  thread_.join();
  close(input_);
}

void CellWorker::run(int input) {
  leave_signals_to_other_threads();
  Outcome outcome;
  try {
    outcome = run_command({.program = program_,
                           .arguments = {"--serve"},
                           .environment = environment_,
                           .input = {},
                           .input_descriptor = input,
                           .stop = &stop_,
                           .on_output_line = [this](const std::string& text) { add(false, text); },
                           .on_error_line = [this](const std::string& text) { add(true, text); }});
  } catch (const std::exception& error) {
    outcome.spawn_error = error.what();
  }
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  ended_ = true;
  news_.notify_all();
}

bool CellWorker::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void CellWorker::add(bool is_error, const std::string& text) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({is_error, text});
  news_.notify_all();
}

std::optional<std::string> CellWorker::ask(
    const std::string& request, double deadline_seconds,
    const std::function<void(const std::string& line)>& on_error_line) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(deadline_seconds));
  bool timed_out = false;
  std::unique_lock lock(mutex_);
  lines_.clear();  // written after the last answer, outside any cell
  lock.unlock();
  was_sent_ = write_all(input_, request);
  lock.lock();
  for (;;) {
    const auto has_news = [this] { return ended_ || !lines_.empty(); };
    if (deadline_seconds == 0 || timed_out) {
      news_.wait(lock, has_news);
    } else if (!news_.wait_until(lock, deadline, has_news)) {
      timed_out = true;
      stop_.raise();
      continue;
    }
    if (lines_.empty()) break;
    const Line line = std::move(lines_.front());
    lines_.pop_front();
    if (!line.is_error && !timed_out) {
      ++answers_;
      return line.text;
    }
    if (!line.is_error) continue;
    lock.unlock();
    on_error_line(line.text);
    lock.lock();
  }
  if (timed_out) std::swap(outcome_.timed_out, outcome_.stopped);  // the reason of our stop
  return std::nullopt;
}

std::optional<std::string> CellWorker::ask_aside(const std::string& request,
                                                 double deadline_seconds) {
  std::optional<std::string> answer = ask(request, deadline_seconds, [](const std::string&) {});
  if (answer) --answers_;
  return answer;
}

std::unique_ptr<CellWorker> WarmWorkers::take(const std::string& program,
                                              const std::vector<std::string>& environment) {
  std::unique_ptr<CellWorker> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [](const auto& worker) { return worker->ended(); });
  const auto fitting = std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& worker) {
    return worker->fits(program, environment);
  });
  if (fitting != idle_.rend()) {
    std::unique_ptr<CellWorker> worker = std::move(*fitting);
    idle_.erase(std::next(fitting).base());
    return worker;
  }
  if (idle_.size() >= at_most_ && !idle_.empty()) {
    dropped = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  return std::make_unique<CellWorker>(program, environment);
}

void WarmWorkers::give_back(std::unique_ptr<CellWorker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  if (idle_.size() > at_most_) idle_.erase(idle_.begin());
}

}  // namespace headroom
