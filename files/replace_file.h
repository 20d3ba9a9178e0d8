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
//   survive that, and nobody may find half a file under the final name.
// Approach: bytes go to a temporary name in the same directory; commit() syncs it, renames it over
//   the old file and syncs the directory. A symbolic link is followed, so the link survives.
//   What is no regular file (/dev/full, a pipe) is written in place, and a stream that is open
//   already ("/dev/stdout", the "/dev/fd/63" of a shell's ">(command)") where it stands: never is a
//   file put in the place of what stdout was redirected into.
// Limits: a killed process leaves its temporary file, named <path>.<six letters>.tmp, behind.
class ReplaceFile {
 public:
  // Throws WriteError, one line with path and reason, like every member below.
  explicit ReplaceFile(const std::string& path);
  ~ReplaceFile();  // without commit(): the temporary file is removed, the old file is kept
  ReplaceFile(const ReplaceFile&) = delete;
  ReplaceFile& operator=(const ReplaceFile&) = delete;

  void write(const void* data, size_t size);
  // Over bytes that were written before; of a regular file.
  void rewrite(int64_t offset, const void* data, size_t size);
  void commit();

 private:
  [[noreturn]] void fail(int error);
  void close_and_remove();

  std::string path_;       // as the user gave it, for messages
  std::string target_;     // with links resolved; empty: written in place
  std::string temporary_;  // empty: the target is written in place
  int descriptor_ = -1;
};

// Where a file of that path lies: "a/" of "a/b", "." of "b".
std::string directory_of(const std::string& path);

// Puts the name of a file that was just created or renamed on the disk too. Best effort: its data
// is safe without, only the name may be lost with the power.
void sync_directory_of(const std::string& path);

}  // namespace headroom
