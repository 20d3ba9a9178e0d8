// Starts a program by fork from a process that has loaded its libraries already. No torch here.
//
// Note [Cells by fork]
// Rationale: a cell spends half a second of processor time on loading libtorch and registering its
//   operators. Ranks of one mesh do so at the same time, and each comes to the same pages.
// Approach: `headroom-cell --forks` loads once, has one thread and waits. For a start it forks
//   twice and the process between ends, so that the new one becomes a child of this process, which
//   is a subreaper: it is watched, killed and reaped like one that was exec'd, in a process group
//   of its own, and dies with this process. Environment and streams are its own.
// Limits: libraries read some variables while they load, so a server starts only what differs from
//   it in variables that our own code reads later. Real cards: their cells are exec'd.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

class ForkServer {
 public:
  // Starts it. Throws std::runtime_error where this process has no more of what that takes.
  ForkServer(const std::string& program, const std::vector<std::string>& environment);
  ~ForkServer();  // ends it, and nothing that it started
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // The number of the new process, a child of this one; in, out and err are its standard streams.
  // Nothing where the server could not: then it is of no more use.
  std::optional<pid_t> start(const std::vector<std::string>& environment, int in, int out, int err);

 private:
  bool is_ready();

  int socket_ = -1;
  pid_t pid_ = 0;
  bool ready_ = false;
};

// The servers of this process, one for each environment. May be used from several threads at once.
class ForkServers {
 public:
  // own: names of variables in which what one server starts may differ.
  explicit ForkServers(std::vector<std::string> own) : own_(std::move(own)) {}

  // As ForkServer::start(), by the one that fits, which is started where there is none.
  std::optional<pid_t> start(const std::string& program,
                             const std::vector<std::string>& environment, int in, int out, int err);

 private:
  const std::vector<std::string> own_;
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<ForkServer>> servers_;  // null: of no use
};

// The server's side, in a process with one thread: serves until its parent has ended. Returns once
// in each process that it starts, with true, and in the server with false.
bool serve_forks();

}  // namespace headroom
