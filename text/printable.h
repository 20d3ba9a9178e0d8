// Makes any text (file names, error messages) safe for a terminal. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

// Valid UTF-8 on one line: a newline becomes \n, other control characters \xNN, invalid bytes the
// replacement character.
std::string printable(std::string_view text);

// Terminal columns of printable text: 0 for combining marks and colours (ANSI escapes, which only
// this program writes), 2 for wide East Asian characters and emoji, 1 for the rest.
size_t display_width(std::string_view text);

// Bytes of the longest prefix that is at most `width` columns wide; no character is cut.
size_t bytes_within(std::string_view text, size_t width);

}  // namespace headroom
