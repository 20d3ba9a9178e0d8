#include "files/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>

namespace headroom {

uint64_t checksum(const void* data, int64_t bytes) {
  return XXH3_64bits(data, static_cast<size_t>(bytes));
}

uint64_t checksum(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string checksum_text(uint64_t sum) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text(kChecksumDigits, '0');
  for (size_t i = kChecksumDigits; i-- > 0; sum >>= 4) text[i] = kDigits[sum & 15];
  return text;
}

std::optional<uint64_t> checksum_from_text(std::string_view text) {
  constexpr int kHexadecimal = 16;
  uint64_t sum = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, sum, kHexadecimal);
  const bool whole = text.size() == kChecksumDigits && read.ec == std::errc() && read.ptr == end;
  if (!whole) return std::nullopt;
  return sum;
}

}  // namespace headroom
