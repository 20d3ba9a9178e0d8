// A file that appears whole or not at all. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace headroom {

// A result could not be written: no such directory, no permission, no space. what() is one line.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Note [Replacing a file]
// Rationale: a run may die, or the disk fill, while a result is written; the earlier result must
//   survive that, and half a file must never appear under the final name.
// Approach: bytes go to a temporary name in the same directory; commit() syncs it, renames it over
//   the old file and syncs the directory. A symbolic link is followed, so the link survives.
//   Anything but a regular file (/dev/full, a pipe) is written in place, and an open stream
//   ("/dev/stdout", the "/dev/fd/63" of a shell's ">(command)") at its position: the file that
//   stdout is redirected into is never replaced.
// Limits: a killed process leaves its temporary file, named <path>.<six letters>.tmp, behind.
class ReplaceFile {
 public:
  // Throws WriteError, one line with path and reason, like every member below.
  explicit ReplaceFile(const std::string& path);
  ~ReplaceFile();  // without commit(): removes the temporary file, keeps the old one
  ReplaceFile(const ReplaceFile&) = delete;
  ReplaceFile& operator=(const ReplaceFile&) = delete;

  void write(const void* data, size_t size);
  // Overwrites bytes written before; only in a regular file.
  void rewrite(int64_t offset, const void* data, size_t size);
  void commit();

 private:
  [[noreturn]] void fail(int error);
  void close_and_remove();

  std::string path_;       // as given by the user, for messages
  std::string target_;     // with links resolved; empty: written in place
  std::string temporary_;  // empty: the target is written in place
  int descriptor_ = -1;
};

// The directory of a path: "a/" for "a/b", "." for "b".
std::string directory_of(const std::string& path);

// Syncs the name of a newly created or renamed file to the disk. Best effort: its data is safe
// without, only the name may be lost in a power failure.
void sync_directory_of(const std::string& path);

}  // namespace headroom
