// Checks for room on a disk before it is needed. No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// Checks for room for `bytes` more in a file of `size` bytes in the directory of `path`. Returns 0,
// or the errno of a full disk, a quota or a limit on file sizes. File systems without an answer
// give 0. Writes no named file.
int space_error(const std::string& path, int64_t size, int64_t bytes);

}  // namespace headroom
