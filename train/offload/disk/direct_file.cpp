#include "train/offload/disk/direct_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace headroom {
namespace {

void note_once(std::vector<std::string>& notes, const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace

OwnedFile::OwnedFile(OwnedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

OwnedFile& OwnedFile::operator=(OwnedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void OwnedFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

OwnedFile open_direct(const std::string& path, int flags, const std::string& directory,
                      std::vector<std::string>& notes) {
  const int common = flags | O_CLOEXEC | O_NOFOLLOW;
  int descriptor = open(path.c_str(), common | O_DIRECT, 0666);
  const bool direct = descriptor >= 0;
  if (!direct && errno == EINVAL) descriptor = open(path.c_str(), common, 0666);
  OwnedFile file(descriptor);
  if (descriptor < 0) return file;
  struct statfs system {};
  // Newer kernels accept O_DIRECT on tmpfs and ignore it.
  const bool in_memory = fstatfs(descriptor, &system) == 0 &&
                         (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  if (in_memory) {
    note_once(notes, directory + " is on tmpfs, in memory: no O_DIRECT, and no disk is measured");
  } else if (!direct) {
    note_once(notes, "the file system of " + directory +
                         " does not support O_DIRECT: the page cache is measured too");
  }
  return file;
}

int reserve_room(const OwnedFile& file, int64_t bytes, const std::string& directory,
                 std::vector<std::string>& notes) {
  int result = 0;
  do {
    result = fallocate(file.get(), 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return 0;
  const int error = errno;
  if (error != EOPNOTSUPP && error != ENOSYS && error != EINVAL) return error;
  note_once(notes,
            "the file system of " + directory +
                " cannot reserve space: a full disk is noticed in the middle of a step only");
  return 0;
}

}  // namespace headroom
