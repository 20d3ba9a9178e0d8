// All bytes of a file or of a stream. No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// Throws ReadError as ByteReader does (files/byte_reader.h), also on more than `most` bytes.
std::string read_whole_file(const std::string& path, int64_t most);

}  // namespace headroom
