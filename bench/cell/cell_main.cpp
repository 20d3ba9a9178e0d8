// headroom-cell: one run in a process of its own. See Note [The cell program] in bench/cell/cell.h.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include "bench/cell/environment.h"
#include "bench/cell/progress.h"
#include "bench/cell/request.h"
#include "bench/cell/run.h"
#include "bench/process/child_process.h"

namespace {

int print_line(const std::string& line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  return written ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  headroom::die_with_parent();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a Record with a reason
  if (argc == 2 && std::strcmp(argv[1], "--identity") == 0) {
    return print_line(headroom::build_identity().dump());
  }
  if (argc != 1) {
    std::fputs("headroom-cell: reads one JSON request on stdin; started by headroom\n", stderr);
    return 2;
  }
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  try {
    const headroom::CellRequest request = headroom::request_from_json(input);
    headroom::RunOptions options{.host_memory_bytes = request.host_memory_bytes};
    if (request.tells_progress) {
      options.on_progress = [](const headroom::Progress& progress) {
        std::fputs((headroom::to_line(progress) + "\n").c_str(), stderr);
      };
    }
    return print_line(headroom::to_json_line(headroom::run(request.spec, options)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom-cell: bad request: %s\n", error.what());
    return 2;
  }
}
