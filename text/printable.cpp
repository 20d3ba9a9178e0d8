#include "text/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace headroom {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;  // bytes of its encoding
  bool valid = false;
};

// The code point that starts at `position`; overlong forms and surrogates are not valid UTF-8.
CodePoint decode(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(position);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || position + length > text.size()) return {kReplacement, 1};
  uint32_t value = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(position + i) & 0xC0U) != 0x80) return {kReplacement, 1};
    value = (value << 6U) | (byte(position + i) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest.at(length) || surrogate || value > 0x10FFFF) return {kReplacement, 1};
  return {value, length, true};
}

struct Range {
  uint32_t first, last;
};

template <size_t kSize>
bool contains(const std::array<Range, kSize>& ranges, uint32_t value) {
  return std::any_of(ranges.begin(), ranges.end(), [value](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

constexpr std::array<Range, 6> kZeroWidth = {{{0x300, 0x36F},
                                              {0x1AB0, 0x1AFF},
                                              {0x200B, 0x200F},
                                              {0x20D0, 0x20FF},
                                              {0xFE00, 0xFE0F},
                                              {0xFE20, 0xFE2F}}};
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};
// Marks that reverse or hide the text around them.
constexpr std::array<Range, 3> kInvisibleControl = {
    {{0x202A, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}}};

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (size_t position = 0; position < text.size();) {
    if (text[position] >= ' ' && text[position] < 0x7F) {
      result += text[position++];
      continue;
    }
    const CodePoint point = decode(text, position);
    if (!point.valid || contains(kInvisibleControl, point.value)) {
      result += "\xEF\xBF\xBD";
    } else if (point.value == '\n') {
      result += "\\n";
    } else if (point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0)) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", point.value);
      result += escape.data();
    } else {
      result += text.substr(position, point.length);
    }
    position += point.length;
  }
  return result;
}

namespace {

// The character at `position`: its bytes and its columns.
struct Character {
  size_t length = 1;
  size_t width = 0;
};

Character character_at(std::string_view text, size_t position) {
  if (text.substr(position).starts_with("\033[")) {
    const size_t end = text.find('m', position);
    if (end != std::string_view::npos) return {end + 1 - position, 0};
  }
  const CodePoint point = decode(text, position);
  if (point.value < kZeroWidth.front().first) return {point.length, 1};
  if (contains(kZeroWidth, point.value)) return {point.length, 0};
  return {point.length, contains(kWide, point.value) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t position = 0; position < text.size();) {
    const Character character = character_at(text, position);
    position += character.length;
    width += character.width;
  }
  return width;
}

size_t bytes_within(std::string_view text, size_t width) {
  size_t position = 0;
  for (size_t used = 0; position < text.size();) {
    const Character character = character_at(text, position);
    used += character.width;
    if (used > width) break;
    position += character.length;
  }
  return position;
}

}  // namespace headroom
