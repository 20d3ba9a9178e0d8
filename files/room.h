// Room on a disk, asked for before it is needed. No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// Looks for room for `bytes` more of a file of `size` bytes in the directory of `path`. Returns 0,
// or the errno of a full disk, a quota or a limit on file sizes. File systems that cannot answer
// give 0. Writes nothing that has a name.
int space_error(const std::string& path, int64_t size, int64_t bytes);

}  // namespace headroom
