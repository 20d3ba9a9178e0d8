// The first byte of a file or pipe, which stays unread. No torch here.
#pragma once

#include <optional>
#include <string>

namespace headroom {

// Of a regular file, or of a pipe that this process has open ("/dev/stdin", a shell's
// "<(command)"); a pipe without data is waited for. std::nullopt where there is no byte, and of
// everything else: a pipe by name would be torn if it were opened twice.
std::optional<char> first_byte(const std::string& path);

}  // namespace headroom
