// headroom-cell: runs cells in a separate process. See Note [The cell program] and
// Note [Cells in one process] in bench/launch/cell.h.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "bench/cell/as_new.h"
#include "bench/cell/machine/environment.h"
#include "bench/cell/ppo/ppo_run.h"
#include "bench/cell/run.h"
#include "bench/launch/progress.h"
#include "bench/launch/request.h"
#include "bench/process/child_process.h"
#include "bench/process/fork_server.h"

namespace headroom {
namespace {

int print_line(const std::string& line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  return written ? 0 : 5;
}

// Exit code 2 and the reason if libtorch refuses the environment's allocator settings.
int print_alloc_conf_keys() {
  try {
    return print_line(alloc_conf_keys().dump());
  } catch (const std::exception& error) {
    const std::string text = error.what();
    std::fprintf(stderr, "%s\n", text.substr(0, text.find('\n')).c_str());
    return 2;
  }
}

// This process's resident memory; 0 if /proc does not report it.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Figures so far: the parent gets the final ones when the process ends. The run's tensors are freed
// by now, so the resident memory is libtorch itself and the host allocator's cache.
nlohmann::json own_process() {
  return {{"pid", getpid()},
          {"max_rss_bytes", max_resident_bytes()},
          {"end_rss_bytes", resident_bytes()}};
}

Record run_request(const std::string& line) {
  const CellRequest request = request_from_json(line);
  RunOptions options{.host_memory_bytes = request.host_memory_bytes, .watches = request.watches};
  if (request.tells_progress) {
    options.on_progress = [](const Progress& progress) {
      std::fputs((to_line(progress) + "\n").c_str(), stderr);
    };
  }
  Record record =
      request.ppo ? run_ppo(request.spec, *request.ppo, options) : run(request.spec, options);
  record.environment["cell"] = own_process();
  return record;
}

// Runs the requests of stdin, one per line.
int run_requests() {
  for (std::string line; std::getline(std::cin, line);) {
    const Record record = run_request(line);
    if (const int code = print_line(to_json_line(record)); code != 0) return code;
    // A CUDA error may have left the context unusable.
    if (record.status == Status::kFailed) break;
  }
  return 0;
}

// Like run_requests(), but runs each request as in a new process.
int serve() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == kIdentityRequest) {
      if (const int code = print_line(program_identity().dump()); code != 0) return code;
      continue;
    }
    if (const std::string why = begin_as_new(); !why.empty()) {
      return print_line(nlohmann::json{{"declined", why}}.dump());
    }
    const Record record = run_request(line);
    if (const int code = print_line(to_json_line(record)); code != 0) return code;
    if (record.status == Status::kFailed) break;
  }
  return 0;
}

// Sets the name that `ps` and `top` show for a rank: "headroom-rank3".
void take_a_ranks_name() {
  const char* const rank = std::getenv("RANK");
  if (rank != nullptr) prctl(PR_SET_NAME, (std::string("headroom-rank") + rank).c_str());
}

// Skips libtorch's destructors, which take longer than a small cell's step. The run's own objects
// are already destroyed.
[[noreturn]] void end(int code) {
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  std::exit(code);  // runs the leak check
#else
  std::_Exit(code);
#endif
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  headroom::die_with_parent();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // an exceeded file size limit gives a Record with a reason
  if (argc == 2 && std::strcmp(argv[1], "--identity") == 0) {
    return headroom::print_line(headroom::build_identity().dump());
  }
  if (argc == 2 && std::strcmp(argv[1], "--alloc-conf-keys") == 0) {
    return headroom::print_alloc_conf_keys();
  }
  const bool serves = argc == 2 && std::strcmp(argv[1], "--serve") == 0;
  const bool forks = argc == 2 && std::strcmp(argv[1], "--forks") == 0;
  if (argc != 1 && !serves && !forks) {
    std::fputs("headroom-cell: reads JSON requests on stdin; started by headroom\n", stderr);
    return 2;
  }
  if (forks && !headroom::serve_forks()) headroom::end(0);
  headroom::take_a_ranks_name();
  try {
    headroom::end(serves ? headroom::serve() : headroom::run_requests());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom-cell: bad request: %s\n", error.what());
    return 2;
  }
}
