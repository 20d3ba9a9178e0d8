// Checks that paths lead to different files, before anything is written. No torch here.
//
// Note [Files apart]
// Rationale: a written file replaces the old one. `--snapshot t.bin` beside `--tokens t.bin`, or
//   two outputs under one name, would destroy hours of work and exit 0.
// Approach: every command passes the files it reads and writes (cli/flags/file_flags.h, the cells
//   of bench/sweep), and nothing runs unless they are different. Existing files are compared by
//   device and inode, which sees through links, hard links and spellings; new files by the folder's
//   device and inode and their name in it.
// Limits: devices (/dev/null) may be written twice. Other processes can still use the file.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace headroom {

// A file as given by the user.
struct NamedFile {
  std::string flag;  // "--snapshot"; "" = an argument that belongs to no flag
  std::string path;
};

// Equal for two paths exactly when they lead to one file.
using FileIdentity = std::tuple<uint64_t, uint64_t, std::string>;    // device, inode, name in it
std::optional<FileIdentity> file_identity(const std::string& path);  // nothing for a device
std::optional<FileIdentity> file_identity(int descriptor);  // nothing unless a regular file

// Throws UsageError if a written file is also read, or written twice. stdout counts as written if
// it is redirected into a regular file, unless a path names it ("/dev/stdout").
void check_apart(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

}  // namespace headroom
