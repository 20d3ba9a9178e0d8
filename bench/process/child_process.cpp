#include "bench/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "bench/process/fork_server.h"
#include "bench/process/interrupt.h"
#include "bench/process/line_splitter.h"

namespace headroom {
namespace {

constexpr size_t kMaxOutput = size_t{64} << 20;  // bytes; a Record is a few KiB
constexpr int kTickMs = 50;                      // without pidfd in the kernel

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

[[noreturn]] void throw_errno(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Only our end: if we are slow, the child must block, not fail.
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// The input as a file in memory: no deadlock at any size, and no SIGPIPE.
Descriptor input_file(const std::string& input) {
  Descriptor file(memfd_create("headroom-input", MFD_CLOEXEC));
  if (file.get() < 0) throw_errno("cannot make a file in memory");
  for (size_t done = 0; done < input.size();) {
    const ssize_t written = write(file.get(), input.data() + done, input.size() - done);
    if (written < 0) throw_errno("cannot write a file in memory");
    done += static_cast<size_t>(written);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// MKL, and thus libtorch, does not load in a deleted working directory. Relative paths do not work
// there anyway, so the child may use "/".
bool working_directory_is_gone() {
  std::array<char, PATH_MAX> folder{};
  return getcwd(folder.data(), folder.size()) == nullptr && errno == ENOENT;
}

int exec_now(const Command& command, int in, int out, int err, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);

  if (working_directory_is_gone()) posix_spawn_file_actions_addchdir_np(&actions, "/");

  // A process group of its own: the terminal's ^C reaches only us, and killing the group also kills
  // the program's children. Default signal actions: ignored ones would be inherited.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM})
    sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> words = {command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  const int error =
      posix_spawn(pid, command.program.c_str(), &actions, &attributes, exec_pointers(words).data(),
                  exec_pointers(command.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads once; closes the descriptor at the end of the stream. False if nothing was read.
template <typename Consumer>
bool read_some(Descriptor& from, const Consumer& consume) {
  std::array<char, 65536> buffer;
  const ssize_t size = read(from.get(), buffer.data(), buffer.size());
  if (size > 0) {
    consume(buffer.data(), static_cast<size_t>(size));
    return true;
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) from.reset();
  return false;
}

// Watches a started child until it ends. The child does not outlive this object, because the
// caller's function may throw.
class Watch {
 public:
  Watch(const Command& command, pid_t pid, Descriptor out, Descriptor err)
      : command_(command),
        out_(std::move(out)),
        err_(std::move(err)),
        pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        lines_(command_.on_error_line) {
    outcome_.pid = pid;
  }
  ~Watch() {
    if (reaped_) return;
    kill_group();
    reap();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Outcome run() {
    while (!ended()) {
      wait_for_news();
      read_out();
      read_err();
      if (command_.deadline_seconds > 0 && since(waiting_since_) >= command_.deadline_seconds) {
        stop(&outcome_.timed_out);
      }
      if (interrupted()) stop(&outcome_.interrupted);
      if (command_.stop != nullptr && command_.stop->raised()) stop(&outcome_.stopped);
    }
    kill_group();
    while (out_.get() >= 0 && read_out()) {
    }
    while (err_.get() >= 0 && read_err()) {
    }
    outcome_.last_error_line = lines_.finish();
    reap();
    return std::move(outcome_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  bool ended() const {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(outcome_.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == outcome_.pid;
  }

  void wait_for_news() {
    // poll() skips negative descriptors.
    const int stop = stopped_ || command_.stop == nullptr ? -1 : command_.stop->descriptor();
    std::array<pollfd, 5> watched = {{{out_.get(), POLLIN, 0},
                                      {err_.get(), POLLIN, 0},
                                      {pidfd_.get(), POLLIN, 0},
                                      {stop, POLLIN, 0},
                                      {stopped_ ? -1 : interrupt_descriptor(), POLLIN, 0}}};
    double timeout_ms = -1;
    if (command_.deadline_seconds > 0 && !stopped_) {
      timeout_ms =
          std::clamp((command_.deadline_seconds - since(waiting_since_)) * 1e3 + 1, 0.0, 1e6);
    }
    if (pidfd_.get() < 0)
      timeout_ms = timeout_ms < 0 ? kTickMs : std::min<double>(timeout_ms, kTickMs);
    poll(watched.data(), watched.size(), static_cast<int>(timeout_ms));
  }

  bool read_out() {
    return read_some(out_, [this](const char* data, size_t size) {
      if (outcome_.output.size() + size > kMaxOutput) return stop(&outcome_.output_too_long);
      outcome_.output.append(data, size);
      if (!command_.on_output_line) return;
      while (err_.get() >= 0 && read_err()) {
      }
      hand_out_lines();
    });
  }

  void hand_out_lines() {
    for (size_t end = 0; (end = outcome_.output.find('\n')) != std::string::npos;) {
      const std::string line = outcome_.output.substr(0, end);
      outcome_.output.erase(0, end + 1);
      waiting_since_ = Clock::now();
      command_.on_output_line(line);
    }
  }

  bool read_err() {
    return read_some(err_, [this](const char* data, size_t size) { lines_.add(data, size); });
  }

  // The first reason counts.
  void stop(bool* reason) {
    if (stopped_) return;
    stopped_ = true;
    *reason = true;
    kill_group();
  }

  // Until it is reaped the child is at least a zombie, so its process group id is not reused.
  void kill_group() const { kill(-outcome_.pid, SIGKILL); }

  void reap() {
    int status = 0;
    rusage usage{};
    while (wait4(outcome_.pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    outcome_.seconds = since(start_);
    outcome_.max_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
    if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) outcome_.exit_code = WEXITSTATUS(status);
  }

  const Command& command_;
  Descriptor out_;
  Descriptor err_;
  Descriptor pidfd_;  // readable when the child has ended; -1 before Linux 5.3
  LineSplitter lines_;
  Outcome outcome_;
  bool stopped_ = false;
  bool reaped_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point waiting_since_ = start_;  // for its first line, or the next
};

}  // namespace

StopSignal::StopSignal() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::runtime_error(std::string("no event: ") + strerror(errno));
}

StopSignal::~StopSignal() { close(descriptor_); }

void StopSignal::raise() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof(one));
}

bool StopSignal::raised() const {
  pollfd watched = {descriptor_, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

int spawn(const Command& command, int in, int out, int err, pid_t* pid) {
  if (command.forks != nullptr && command.arguments.empty()) {
    const auto forked = command.forks->start(command.program, command.environment, in, out, err);
    if (forked) {
      *pid = *forked;
      return 0;
    }
  }
  return exec_now(command, in, out, err, pid);
}

Outcome run_command(const Command& command) {
  const bool is_given = command.input_descriptor >= 0;
  Descriptor in = is_given ? Descriptor(command.input_descriptor) : input_file(command.input);
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  pid_t pid = 0;
  const int error = spawn(command, in.get(), out.write.get(), err.write.get(), &pid);
  if (error != 0) {
    Outcome outcome;
    outcome.spawn_error = strerror(error);
    return outcome;
  }
  in.reset();
  out.write.reset();
  err.write.reset();
  return Watch(command, pid, std::move(out.read), std::move(err.read)).run();
}

std::vector<char*> exec_pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  // exec takes char* for historical reasons and does not modify the strings.
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> changed_environment(const std::vector<std::string>& unset,
                                             const std::vector<std::string>& set) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool is_replaced = std::any_of(set.begin(), set.end(), [&](const std::string& entry) {
      return entry.substr(0, entry.find('=')) == name;
    });
    const bool is_unset = std::find(unset.begin(), unset.end(), name) != unset.end();
    if (!is_unset && !is_replaced) environment.push_back(text);
  }
  std::copy_if(set.begin(), set.end(), std::back_inserter(environment),
               [](const std::string& entry) { return entry.find('=') != std::string::npos; });
  return environment;
}

std::vector<std::string> torch_environment(const std::string& alloc_conf,
                                           std::vector<std::string> set) {
  if (alloc_conf.empty()) return changed_environment({}, set);
  set.push_back("PYTORCH_CUDA_ALLOC_CONF=" + alloc_conf);
  // libtorch reads both names, the newer one first.
  return changed_environment({"PYTORCH_ALLOC_CONF"}, set);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return std::to_string(signal) + (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
}

void die_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died just before.
  if (getppid() != parent) raise(SIGKILL);
}

}  // namespace headroom
