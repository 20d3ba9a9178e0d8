#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "text/wrap.h"

namespace headroom {
namespace {

int report_descriptor = STDOUT_FILENO;

}  // namespace

void hold_standard_descriptors() {
  // Opened for reading, so that writing to it is an error.
  int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

void survive_failed_writes() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void print_to_stderr() { report_descriptor = STDERR_FILENO; }

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(report_descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return;
    if (written < 0 && errno == EAGAIN) {  // set non-blocking by another process
      pollfd waited{report_descriptor, POLLOUT, 0};
      ::poll(&waited, 1, -1);
      continue;
    }
    if (written < 0) {
      const std::string stream = report_descriptor == STDOUT_FILENO ? "stdout" : "stderr";
      throw std::runtime_error("cannot write to " + stream + ": " + std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void print_command(const std::string& command) {
  constexpr size_t kIndent = 4;
  for (const std::string& line : command_lines("command: " + command, page_width(), kIndent)) {
    print(line + "\n");
  }
}

void print_tables(const std::vector<Table>& tables, TableFormat format, const std::string& path) {
  if (path.empty()) {
    print(to_string(tables, format, page_width()));
  } else {
    write_file_atomically(path, to_string(tables, format));
  }
}

}  // namespace headroom
