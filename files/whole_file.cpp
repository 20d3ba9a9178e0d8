#include "files/whole_file.h"

#include "files/byte_reader.h"

namespace headroom {

std::string read_whole_file(const std::string& path, int64_t most) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 20;
  ByteReader file(path, most);
  std::string bytes;
  while (true) {
    const std::string_view piece = file.take(kAtOnce);
    if (piece.empty()) return bytes;
    bytes += piece;
  }
}

}  // namespace headroom
