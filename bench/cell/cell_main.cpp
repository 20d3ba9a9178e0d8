// headroom-cell: one run in a process of its own. See Note [The cell program] in bench/cell/cell.h.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include "bench/cell/environment.h"
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
  if (argc == 2 && std::strcmp(argv[1], "--identity") == 0) {
    return print_line(headroom::build_identity().dump());
  }
  if (argc != 1) {
    std::fputs("headroom-cell: reads one JSON request on stdin; started by headroom\n", stderr);
    return 2;
  }
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  try {
    const auto request = nlohmann::json::parse(input);
    const headroom::RunSpec spec = headroom::spec_from_json(request.at("spec"));
    headroom::RunOptions options;
    const auto limit = request.find("host_memory_bytes");
    if (limit != request.end() && limit->is_number()) options.host_memory_bytes = *limit;
    return print_line(headroom::to_json_line(headroom::run(spec, options)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom-cell: bad request: %s\n", error.what());
    return 2;
  }
}
