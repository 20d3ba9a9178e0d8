#include "train/offload/disk/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "files/replace_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

[[noreturn]] void refuse_file(const std::string& directory, int error,
                              const std::string& more = "") {
  throw WriteError("cannot write " + directory + ": " + std::generic_category().message(error) +
                   more);
}

OwnedFile open_nameless(const std::string& directory, std::vector<std::string>& notes) {
  OwnedFile file = open_direct(directory + "/.", O_RDWR | O_TMPFILE, directory, notes);
  if (file.get() >= 0) return file;
  // For file systems without O_TMPFILE, and kernels that reject it for a directory.
  if (errno != EOPNOTSUPP && errno != EISDIR) refuse_file(directory, errno);
  const std::string path = directory + "/headroom-scratch." + std::to_string(getpid());
  file = open_direct(path, O_RDWR | O_CREAT | O_EXCL, directory, notes);
  if (file.get() < 0) refuse_file(path, errno);
  unlink(path.c_str());
  return file;
}

}  // namespace

void ScratchFile::check(const std::string& directory) {
  std::vector<std::string> notes;
  open_nameless(directory, notes);
}

ScratchFile::ScratchFile(const std::string& directory, const std::string& what, int64_t bytes)
    : name_(directory + " (" + what + ")"), file_(open_nameless(directory, notes_)) {
  if (const int error = reserve_room(file_, bytes, directory, notes_)) {
    refuse_file(directory, error, "; the " + what + " take a file of " + format_bytes(bytes));
  }
}

}  // namespace headroom
