// Runs a program to its end and captures its output: exec'd, or forked by a server (fork_server.h),
// in its own process group, with a deadline. Independent of Records.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

class ForkServers;

// Ends programs that other threads run.
class StopSignal {
 public:
  StopSignal();  // throws std::runtime_error without a file descriptor
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void raise() const;
  bool raised() const;
  int descriptor() const { return descriptor_; }  // readable after raise()

 private:
  int descriptor_ = -1;
};

struct Command {
  std::string program;                   // a path; PATH is not searched
  std::vector<std::string> arguments;    // without the program's own name
  std::vector<std::string> environment;  // "NAME=value"; see changed_environment()
  std::string input;                     // its stdin
  int input_descriptor = -1;             // its stdin instead, closed here; -1 = `input`
  ForkServers* forks = nullptr;          // start it, if they can and `arguments` is empty
  double deadline_seconds = 0;           // its process group is killed after this; 0 = never
  const StopSignal* stop = nullptr;      // its process group is killed when this is raised
  // Gets each line of its stdout, without the newline, as it arrives, after the stderr before it;
  // the line is not in Outcome::output then, and restarts the deadline. Exceptions: as of
  // on_error_line.
  std::function<void(const std::string& line)> on_output_line = {};
  // Gets each line of its stderr, without the newline, as it arrives; long ones in pieces of
  // 64 KiB. run_command() rethrows its exceptions, after killing the program.
  std::function<void(const std::string& line)> on_error_line;
};

struct Outcome {
  std::string spawn_error;       // reason why it never started: "No such file or directory"
  pid_t pid = 0;                 // and process group
  int exit_code = -1;            // -1 if a signal ended it
  int signal = 0;                // 0 if it exited
  bool timed_out = false;        // killed by us: the deadline
  bool interrupted = false;      // killed by us: bench/process/interrupt.h
  bool stopped = false;          // killed by us: Command::stop
  bool output_too_long = false;  // killed by us: more than 64 MiB on stdout, or in one of its lines
  std::string output;            // its stdout
  std::string last_error_line;   // the last line that is not blank, a stack frame or progress
  double seconds = 0;            // wall time
  int64_t max_rss_bytes = 0;     // highest resident size of the process
};

// Blocks until the program ended. Processes that it left running are killed with it. Throws
// std::runtime_error if this process is out of file descriptors or memory, and the exceptions of
// on_error_line; no started process survives then.
Outcome run_command(const Command& command);

// Starts it with these standard streams. Returns 0, or the errno of the failure.
int spawn(const Command& command, int in, int out, int err, pid_t* pid);

// This process's environment without `unset`, and with `set` ("NAME=value") added or replaced; a
// "NAME" alone is removed.
std::vector<std::string> changed_environment(const std::vector<std::string>& unset,
                                             const std::vector<std::string>& set);

// The same for a program with libtorch: its allocator gets only these settings; "" = those of this
// process.
std::vector<std::string> torch_environment(const std::string& alloc_conf,
                                           std::vector<std::string> set);

// argv or envp of exec: the words, then a null pointer. Valid as long as `words`.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

// "9 (SIGKILL)".
std::string signal_name(int signal);

// Called by the child at the start of main(): the kernel kills this process when its parent dies,
// so that after kill -9 of a sweep no cell still holds memory.
void die_with_parent();

}  // namespace headroom
