#include "profiling/report/page/columns.h"

namespace headroom {

void append_varint(std::string& bytes, uint64_t value) {
  while (value >= 0x80) {
    bytes += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

}  // namespace headroom
