// Text from anywhere (file names, error messages) made fit for a terminal. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

// Valid UTF-8 on one line: a newline becomes \n, other control characters \xNN, bytes that are not
// UTF-8 the replacement character.
std::string printable(std::string_view text);

// Terminal columns that printable text takes: 0 for combining marks and for colours (ANSI escapes,
// which only we write), 2 for wide East Asian characters and emoji, 1 for the rest.
size_t display_width(std::string_view text);

// Bytes of the longest beginning of the text that takes no more than `width` columns; no character
// is cut.
size_t bytes_within(std::string_view text, size_t width);

}  // namespace headroom
