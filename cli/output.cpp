#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace headroom {

void hold_standard_descriptors() {
  // Opened for reading, so that writing to it is an error and not silence.
  int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return;
    if (written < 0) {
      throw std::runtime_error(std::string("cannot write to stdout: ") + std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace headroom
