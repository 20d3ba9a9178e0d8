// The first byte of a file or pipe, which stays unread. No torch here.
#pragma once

#include <optional>
#include <string>

namespace headroom {

// Reads a regular file, or a pipe that this process has open ("/dev/stdin", a shell's
// "<(command)"), and waits for the pipe's data. std::nullopt if there is no byte, and for
// everything else: opening a pipe by its name twice would lose its data.
std::optional<char> first_byte(const std::string& path);

}  // namespace headroom
