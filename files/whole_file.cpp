#include "files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "files/mapped_file.h"

namespace headroom {
namespace {

// A file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw ReadError(path, std::generic_category().message(errno));
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::string read_whole_file(const std::string& path, int64_t most) {
  const OpenFile file(path);
  struct stat status {};
  fstat(file.get(), &status);
  if (S_ISDIR(status.st_mode)) throw ReadError(path, std::generic_category().message(EISDIR));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) {
    throw ReadError(path, "it is neither a regular file nor a pipe");
  }
  std::string bytes;
  if (S_ISREG(status.st_mode)) bytes.reserve(static_cast<size_t>(std::min(status.st_size, most)));
  std::array<char, size_t{1} << 16> part;
  while (true) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ReadError(path, std::generic_category().message(errno));
    if (got == 0) return bytes;
    if (static_cast<int64_t>(bytes.size()) + got > most) {
      throw ReadError(path, "it is larger than " + std::to_string(most) + " bytes");
    }
    bytes.append(part.data(), static_cast<size_t>(got));
  }
}

}  // namespace headroom
