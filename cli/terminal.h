// What the terminal behind stdout, or stderr, can show. No torch here.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

namespace headroom {

// Whether the locale's character set is UTF-8, as the C library decides it: LC_ALL before LC_CTYPE
// before LANG, the first that is not empty; none of them is plain ASCII.
bool locale_is_utf8();

// Columns of the terminal behind a descriptor: what COLUMNS says, else what the terminal says. 0 =
// as wide as needed: it is none (a file, a pipe), or does not say.
size_t terminal_width(int descriptor = STDOUT_FILENO);

// Columns of the page that stdout is: those of a terminal; 160 in a pipe, which ends in a log or in
// a pager; 0 = as wide as needed in a file.
size_t page_width();

// Whether a terminal is behind a descriptor that can do more than print lines: not TERM=dumb.
bool is_live(int descriptor);

// Whether stdout is such a terminal and NO_COLOR is not set.
bool takes_colour();

// Text with FITS in green and EXCEEDS and NOTHING FITS in red.
std::string with_coloured_verdicts(std::string text);

}  // namespace headroom
