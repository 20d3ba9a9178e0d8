// Checksums that detect bits changed on a disk. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

// XXH3, 64 bits: detects damage, not malice.
uint64_t checksum(const void* data, int64_t bytes);
uint64_t checksum(std::string_view text);

// The form in files: 16 hexadecimal digits. Nothing for any other text.
inline constexpr size_t kChecksumDigits = 16;
std::string checksum_text(uint64_t sum);
std::optional<uint64_t> checksum_from_text(std::string_view text);

}  // namespace headroom
