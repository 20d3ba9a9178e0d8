// Files that are either the old one or the whole new one, never half of it. No torch here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// Writes `text` to a temporary name beside `path`, flushes it to the disk and renames it over
// `path`. On any failure (no such directory, not writable, disk full) throws std::runtime_error
// with one line, leaves the old file and removes the temporary one. A symbolic link keeps its
// target; a device, a pipe or an open stream ("/dev/stdout") is written to directly.
void write_file_atomically(const std::string& path, std::string_view text);

// Checks before hours of work that write_file_atomically can write there: creates and removes the
// temporary file. A pipe is not opened: that would wait for its reader, and end it. Throws the same
// std::runtime_error.
void check_writable(const std::string& path);

}  // namespace headroom
