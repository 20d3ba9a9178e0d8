#include "files/replace_file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "files/links.h"

namespace headroom {
namespace {

// The mode of a plain open(O_CREAT); mkostemps gives 0600. The umask can be read only by setting
// it.
mode_t default_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// A descriptor of our own for the stream behind `descriptor`; -1 and errno if it is not writable.
int duplicate_for_writing(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return -1;
  if ((flags & O_ACCMODE) == O_RDONLY) {
    errno = EBADF;
    return -1;
  }
  return fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

// Another process may have made a shared stream non-blocking.
void wait_until_writable(int descriptor) {
  pollfd waited{descriptor, POLLOUT, 0};
  poll(&waited, 1, -1);
}

}  // namespace

ReplaceFile::ReplaceFile(const std::string& path) : path_(path) {
  if (const std::optional<int> stream = named_descriptor(path)) {
    descriptor_ = duplicate_for_writing(*stream);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  struct stat existing {};
  mode_t mode = default_mode();
  if (stat(path.c_str(), &existing) == 0) {
    if (!S_ISREG(existing.st_mode)) {
      descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) fail(errno);
      return;
    }
    mode = existing.st_mode & 07777;
  }
  target_ = follow_links(path);
  temporary_ = target_ + ".XXXXXX.tmp";
  descriptor_ = mkostemps(temporary_.data(), 4, O_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
  if (fchmod(descriptor_, mode) != 0) fail(errno);
}

ReplaceFile::~ReplaceFile() { close_and_remove(); }

void ReplaceFile::close_and_remove() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void ReplaceFile::fail(int error) {
  close_and_remove();  // a throwing constructor runs no destructor
  throw WriteError("cannot write " + with_link_target(path_) + ": " +
                   std::generic_category().message(error));
}

void ReplaceFile::write(const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) fail(errno);
      wait_until_writable(descriptor_);
      continue;
    }
    next += written;
    size -= static_cast<size_t>(written);
  }
}

void ReplaceFile::rewrite(int64_t offset, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = pwrite(descriptor_, next, size, offset);
    if (written < 0 && errno != EINTR) fail(errno);
    if (written <= 0) continue;
    next += written;
    offset += written;
    size -= static_cast<size_t>(written);
  }
}

void ReplaceFile::commit() {
  // A pipe or a device cannot be synced; that is no error.
  if (fsync(descriptor_) != 0 && !temporary_.empty()) fail(errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_directory_of(target_);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void sync_directory_of(const std::string& path) {
  const int handle = open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  fsync(handle);
  close(handle);
}

}  // namespace headroom
