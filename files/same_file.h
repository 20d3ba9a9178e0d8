// Whether two paths lead to one file, asked before anything is written. No torch here.
//
// Note [Files apart]
// Rationale: what is written replaces what was there. `--snapshot t.bin` beside `--tokens t.bin`,
//   or two outputs under one name, would destroy hours of work and exit 0.
// Approach: every command hands over what it reads and what it writes (cli/flags/file_flags.h, the
//   cells of bench/sweep) and nothing runs unless they are apart. Files that are there are held
//   against each other by device and inode, which sees through links, hard links and spellings;
//   files that are not there yet by the folder's device and inode and their name in it.
// Limits: devices (/dev/null) may be written twice. Nobody else is kept from using the file.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace headroom {

// A file as the user named it.
struct NamedFile {
  std::string flag;  // "--snapshot"; "" = an argument that belongs to no flag
  std::string path;
};

// Equal for two paths exactly when they lead to one file.
using FileIdentity = std::tuple<uint64_t, uint64_t, std::string>;    // device, inode, name in it
std::optional<FileIdentity> file_identity(const std::string& path);  // nothing for a device
std::optional<FileIdentity> file_identity(int descriptor);  // nothing unless a regular file

// Throws UsageError when something written is also read, or written twice. stdout counts as written
// where it is redirected into a regular file, unless a path asks for it by name ("/dev/stdout").
void check_apart(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

}  // namespace headroom
