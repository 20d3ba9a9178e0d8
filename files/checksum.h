// Sums by which bits that a disk has changed show. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

// XXH3, 64 bits: of damage, not of malice.
uint64_t checksum(const void* data, int64_t bytes);
uint64_t checksum(std::string_view text);

// As files have it: 16 hexadecimal digits. Nothing from what is no such text.
inline constexpr size_t kChecksumDigits = 16;
std::string checksum_text(uint64_t sum);
std::optional<uint64_t> checksum_from_text(std::string_view text);

}  // namespace headroom
