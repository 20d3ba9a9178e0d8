// A program run to its end with its output caught: exec'd, or forked by a server (fork_server.h),
// in a process group of its own, with a deadline. Knows nothing of Records.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

class ForkServers;

// Ends programs that run on other threads.
class StopSignal {
 public:
  StopSignal();  // throws std::runtime_error without a file descriptor
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void raise() const;
  bool raised() const;
  int descriptor() const { return descriptor_; }  // readable from then on

 private:
  int descriptor_ = -1;
};

struct Command {
  std::string program;                   // a path; PATH is not searched
  std::vector<std::string> arguments;    // without the program's own name
  std::vector<std::string> environment;  // "NAME=value"; see changed_environment()
  std::string input;                     // what it reads on stdin
  int input_descriptor = -1;             // what it reads there instead, closed here; -1 = `input`
  ForkServers* forks = nullptr;          // start it, where they can and `arguments` are none
  double deadline_seconds = 0;           // its process group is killed after this; 0 = never
  const StopSignal* stop = nullptr;      // its process group is killed when this is raised
  // One line of its stdout, without the newline, as it comes, after what it said on stderr before
  // it; it is not in Outcome::output then, and the deadline counts from it anew. What it throws
  // comes out as of on_error_line.
  std::function<void(const std::string& line)> on_output_line = {};
  // One line of its stderr, without the newline, as it comes; long ones in pieces of 64 KiB. What
  // it throws comes out of run_command(), after the program was killed.
  std::function<void(const std::string& line)> on_error_line;
};

struct Outcome {
  std::string spawn_error;       // why it never started: "No such file or directory"
  pid_t pid = 0;                 // and process group
  int exit_code = -1;            // -1 when a signal ended it
  int signal = 0;                // 0 when it exited
  bool timed_out = false;        // killed by us: the deadline
  bool interrupted = false;      // killed by us: bench/process/interrupt.h
  bool stopped = false;          // killed by us: Command::stop
  bool output_too_long = false;  // killed by us: more than 64 MiB on stdout, or in one line of it
  std::string output;            // its stdout
  std::string last_error_line;   // the last line with something on it; stack frames are passed over
  double seconds = 0;            // wall time
  int64_t max_rss_bytes = 0;     // highest resident size of the process
};

// Blocks until the program ended. What it started itself and left running is killed with it. Throws
// std::runtime_error when this process is out of file descriptors or memory, and what on_error_line
// throws; nothing that was started lives on then.
Outcome run_command(const Command& command);

// Starts it, with these standard streams. Returns 0, or the errno of the failure.
int spawn(const Command& command, int in, int out, int err, pid_t* pid);

// This process's environment without `unset`, and with `set` ("NAME=value") added or put in place;
// a "NAME" alone is taken away.
std::vector<std::string> changed_environment(const std::vector<std::string>& unset,
                                             const std::vector<std::string>& set);

// The same for a program of libtorch whose allocator is to have these settings, and no others; "" =
// those of this process.
std::vector<std::string> torch_environment(const std::string& alloc_conf,
                                           std::vector<std::string> set);

// argv or envp of exec: the words, then a null pointer. Valid as long as the words are.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

// "9 (SIGKILL)".
std::string signal_name(int signal);

// For the child's side, first thing in main(): the kernel kills this process when its parent dies,
// so that a sweep ended by kill -9 leaves no cell behind that still holds the memory.
void die_with_parent();

}  // namespace headroom
