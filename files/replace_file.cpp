#include "files/replace_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <stdexcept>
#include <system_error>

namespace headroom {
namespace {

// The mode a plain open(O_CREAT) would give; mkostemps gives 0600. The process has no other way to
// ask for its umask than to set it.
mode_t default_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// Where a write through `path` ends: links are followed, to a file that need not exist yet.
std::string resolve_link(std::string path) {
  constexpr int kMaxLinks = 40;  // the kernel's own limit; beyond it opening fails and says why
  char link[PATH_MAX];
  for (int i = 0; i < kMaxLinks; ++i) {
    const ssize_t length = readlink(path.c_str(), link, sizeof(link));
    if (length < 0 || length == sizeof(link)) return path;  // not a link
    const std::string target(link, static_cast<size_t>(length));
    // A relative link starts at its own directory.
    path.resize(target.starts_with('/') ? 0 : path.rfind('/') + 1);
    path += target;
  }
  return path;
}

}  // namespace

ReplaceFile::ReplaceFile(const std::string& path) : path_(path), target_(resolve_link(path)) {
  struct stat existing {};
  mode_t mode = default_mode();
  if (stat(target_.c_str(), &existing) == 0) {
    if (!S_ISREG(existing.st_mode)) {
      descriptor_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) fail(errno);
      return;
    }
    mode = existing.st_mode & 07777;
  }
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
  throw WriteError("cannot write " + path_ + ": " + std::generic_category().message(error));
}

void ReplaceFile::write(const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    next += written;
    size -= static_cast<size_t>(written);
  }
}

void ReplaceFile::commit() {
  // A pipe or a device cannot be synced; that is no fault of the data.
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
