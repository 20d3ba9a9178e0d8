// All bytes of a file or of a stream. No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// Reads a regular file, or a pipe to its end ("/dev/stdin", a shell's "<(command)"). Throws
// ReadError (files/mapped_file.h) if it cannot be read, and on folders and devices: /dev/zero has
// no end. More than `most` bytes are also an error, and are not read. A pipe without data is waited
// for; a signal ends that.
std::string read_whole_file(const std::string& path, int64_t most);

}  // namespace headroom
