// Files that are either the old one or the whole new one, never half of it. No torch here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// Writes `text` to a temporary name beside `path`, flushes it to the disk and renames it over
// `path`. On any failure (no such directory, not writable, disk full) throws std::runtime_error
// with one line, leaves what was at `path` and removes the temporary file. A symbolic link keeps
// pointing where it did; a device, a pipe or a stream that is open already ("/dev/stdout") is
// written to directly.
void write_file_atomically(const std::string& path, std::string_view text);

// Finds out before hours of work whether write_file_atomically could write there: creates and
// removes the temporary file. A pipe is not opened: that would wait for its reader, and end it.
// Throws the same std::runtime_error.
void check_writable(const std::string& path);

}  // namespace headroom
