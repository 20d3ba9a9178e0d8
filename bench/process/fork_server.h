// Starts a program by fork from a process that has already loaded its libraries. No torch here.
//
// Note [Cells by fork]
// Rationale: a cell spends half a second of processor time on loading libtorch and registering its
//   operators. The ranks of a mesh all do this at the same time, with the same resulting pages.
// Approach: `headroom-cell --forks` loads once, has one thread and waits. For a start it forks
//   twice and the intermediate process exits, so that the new one becomes a child of this process,
//   which is a subreaper: it is watched, killed and reaped like an exec'd one, in its own process
//   group, and dies with this process. It has its own environment and streams.
// Limits: libraries read some variables while they load, so a server's processes may differ from it
//   only in variables that our own code reads later. Cells on real cards are exec'd.
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
  // Starts it. Throws std::runtime_error if this process is out of file descriptors.
  ForkServer(const std::string& program, const std::vector<std::string>& environment);
  ~ForkServer();  // ends it, but not the processes that it started
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // The pid of the new process, a child of this one; in, out and err are its standard streams.
  // Nothing if the server failed: it is unusable then.
  std::optional<pid_t> start(const std::vector<std::string>& environment, int in, int out, int err);

 private:
  bool is_ready();

  int socket_ = -1;
  pid_t pid_ = 0;
  bool ready_ = false;
};

// The servers of this process, one for each environment. Thread-safe.
class ForkServers {
 public:
  // own: names of variables in which processes of one server may differ.
  explicit ForkServers(std::vector<std::string> own) : own_(std::move(own)) {}

  // Like ForkServer::start(), by the matching server, which is started if there is none.
  std::optional<pid_t> start(const std::string& program,
                             const std::vector<std::string>& environment, int in, int out, int err);

 private:
  const std::vector<std::string> own_;
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<ForkServer>> servers_;  // null: unusable
};

// The server's side, in a process with one thread: serves until its parent has ended. Returns true
// once in each process that it starts, and false in the server.
bool serve_forks();

}  // namespace headroom
