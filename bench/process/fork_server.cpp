#include "bench/process/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bench/process/child_process.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr int kStreams = 3;
constexpr int kServerSocket = STDIN_FILENO;
constexpr pid_t kNone = -1;
// A server's first message, once loaded; another program sends none, or a different one.
constexpr std::string_view kReady = "headroom-cell: forks 1\n";
constexpr int kLoadingMs = 30000;  // a busy machine takes seconds

using Streams = std::array<int, kStreams>;

// The head of a request: the size of the environment, which follows, and the descriptors.
class Head {
 public:
  Head() {
    message_.msg_iov = &content_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  bool send_to(int socket, uint64_t environment_bytes, const Streams& streams) {
    environment_bytes_ = environment_bytes;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message_);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(streams));
    std::memcpy(CMSG_DATA(rights), streams.data(), sizeof(streams));
    return sendmsg(socket, &message_, MSG_NOSIGNAL) == ssize_t{sizeof(environment_bytes_)};
  }

  bool receive_from(int socket, Streams& streams) {
    ssize_t received = 0;
    do {
      received = recvmsg(socket, &message_, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message_);
    if (received != ssize_t{sizeof(environment_bytes_)} || rights == nullptr ||
        rights->cmsg_len != CMSG_LEN(sizeof(streams))) {
      return false;
    }
    std::memcpy(streams.data(), CMSG_DATA(rights), sizeof(streams));
    return true;
  }

  uint64_t environment_bytes() const { return environment_bytes_; }

 private:
  uint64_t environment_bytes_ = 0;
  iovec content_ = {&environment_bytes_, sizeof(environment_bytes_)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Streams))> control_{};
  msghdr message_{};
};

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t received = recv(socket, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    data += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

std::string joined(const std::vector<std::string>& environment) {
  std::string text;
  for (const std::string& variable : environment) text += variable + '\0';
  return text;
}

// Sets `environ`; its storage is valid until the next call.
void set_environment(const std::string& text) {
  static std::vector<std::string> variables;
  static std::vector<char*> pointers;
  variables.clear();
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    variables.emplace_back(text.c_str() + at);
  }
  pointers = exec_pointers(variables);
  environ = pointers.data();
}

// Sets up the new process. False if the requesting parent has ended.
bool settle(pid_t between, pid_t home, const Streams& streams, const std::string& environment,
            int ready) {
  setpgid(0, 0);
  while (getppid() == between) sched_yield();
  die_with_parent();
  if (getppid() != home) return false;
  set_environment(environment);
  for (int stream = 0; stream < kStreams; ++stream) dup2(streams[stream], stream);
  for (const int stream : streams) close(stream);
  const pid_t own = getpid();
  return write(ready, &own, sizeof(own)) == ssize_t{sizeof(own)};
}

enum class Side { kServer, kStarted };

// Returns on both sides of a start. pid: the started process, kNone if that failed.
Side fork_twice(pid_t home, const Streams& streams, const std::string& environment, pid_t& pid) {
  std::array<int, 2> ready{};
  pid = kNone;
  if (pipe2(ready.data(), O_CLOEXEC) != 0) return Side::kServer;
  const pid_t between = fork();
  if (between == 0) {
    const pid_t self = getpid();
    if (const pid_t started = fork(); started != 0) _exit(started < 0 ? 1 : 0);
    if (!settle(self, home, streams, environment, ready[1])) _exit(1);
    close(ready[0]);
    close(ready[1]);
    return Side::kStarted;
  }
  close(ready[1]);
  if (between > 0) {
    while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (read(ready[0], &pid, sizeof(pid)) != ssize_t{sizeof(pid)}) pid = kNone;
  }
  close(ready[0]);
  return Side::kServer;
}

}  // namespace

ForkServer::ForkServer(const std::string& program, const std::vector<std::string>& environment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error(std::string("cannot make a socket: ") + strerror(errno));
  }
  socket_ = ends[0];
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  const Command command{.program = program, .arguments = {"--forks"}, .environment = environment};
  if (nowhere < 0 || spawn(command, ends[1], nowhere, nowhere, &pid_) != 0) pid_ = kNone;
  if (nowhere >= 0) close(nowhere);
  close(ends[1]);
}

ForkServer::~ForkServer() {
  close(socket_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Waits until the server has loaded.
bool ForkServer::is_ready() {
  if (ready_ || pid_ <= 0) return ready_;
  std::string said(kReady.size(), '\0');
  pollfd news = {socket_, POLLIN, 0};
  ready_ = poll(&news, 1, kLoadingMs) == 1 && receive_all(socket_, said.data(), said.size()) &&
           said == kReady;
  return ready_;
}

std::optional<pid_t> ForkServer::start(const std::vector<std::string>& environment, int in, int out,
                                       int err) {
  const std::string text = joined(environment);
  pid_t pid = kNone;
  const bool answered = is_ready() && Head().send_to(socket_, text.size(), {in, out, err}) &&
                        send_all(socket_, text.data(), text.size()) &&
                        receive_all(socket_, reinterpret_cast<char*>(&pid), sizeof(pid));
  if (!answered || pid == kNone) return std::nullopt;
  return pid;
}

std::optional<pid_t> ForkServers::start(const std::string& program,
                                        const std::vector<std::string>& environment, int in,
                                        int out, int err) {
  std::vector<std::string> kind = {program};
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(kind),
               [&](const std::string& variable) {
                 return !is_one_of(variable.substr(0, variable.find('=')), own_);
               });
  const std::lock_guard lock(mutex_);
  auto [server, is_new] = servers_.try_emplace(kind);
  if (is_new) server->second = std::make_unique<ForkServer>(program, environment);
  if (!server->second) return std::nullopt;
  const std::optional<pid_t> pid = server->second->start(environment, in, out, err);
  if (!pid) server->second.reset();
  return pid;
}

bool serve_forks() {
  const pid_t home = getppid();
  if (!send_all(kServerSocket, kReady.data(), kReady.size())) return false;
  for (;;) {
    Head head;
    Streams streams{};
    if (!head.receive_from(kServerSocket, streams)) return false;
    std::string environment(head.environment_bytes(), '\0');
    if (!receive_all(kServerSocket, environment.data(), environment.size())) return false;
    pid_t pid = kNone;
    if (fork_twice(home, streams, environment, pid) == Side::kStarted) return true;
    for (const int stream : streams) close(stream);
    if (!send_all(kServerSocket, reinterpret_cast<const char*>(&pid), sizeof(pid))) return false;
  }
}

}  // namespace headroom
