#include "files/first_byte.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace headroom {
namespace {

// tee() copies from one pipe to another and leaves the bytes where they are.
std::optional<char> first_byte_of_pipe(int pipe_end) {
  std::array<int, 2> copy{};
  if (pipe2(copy.data(), O_CLOEXEC) != 0) return std::nullopt;
  char byte = 0;
  const bool has_byte = tee(pipe_end, copy[1], 1, 0) == 1 && read(copy[0], &byte, 1) == 1;
  for (const int end : copy) close(end);
  return has_byte ? std::optional<char>(byte) : std::nullopt;
}

}  // namespace

std::optional<char> first_byte(const std::string& path) {
  const bool is_open_here = path.starts_with("/dev/") || path.starts_with("/proc/self/fd/");
  // Without O_NONBLOCK, opening a pipe by name waits for its writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | (is_open_here ? 0 : O_NONBLOCK));
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::optional<char> found;
  char byte = 0;
  if (fstat(file, &status) == 0) {
    if (S_ISREG(status.st_mode) && pread(file, &byte, 1, 0) == 1) found = byte;
    if (S_ISFIFO(status.st_mode) && is_open_here) found = first_byte_of_pipe(file);
  }
  close(file);
  return found;
}

}  // namespace headroom
