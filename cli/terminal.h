// Capabilities of the terminal behind stdout or stderr. No torch here.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

namespace headroom {

// True if the locale's character set is UTF-8, by the C library's rule: the first non-empty one of
// LC_ALL, LC_CTYPE, LANG; ASCII if all are empty.
bool locale_is_utf8();

// Columns of the terminal behind a file descriptor: from COLUMNS, otherwise from the terminal. 0 =
// as wide as needed: not a terminal (a file, a pipe), or an unknown width.
size_t terminal_width(int descriptor = STDOUT_FILENO);

// Columns for stdout: the terminal's; 160 in a pipe, which ends in a log or a pager; 0 = as wide as
// needed in a file.
size_t page_width();

// True if a file descriptor is a terminal that can do more than print lines: not TERM=dumb.
bool is_live(int descriptor);

// True if stdout is such a terminal and NO_COLOR is not set.
bool takes_colour();

// Text with FITS in green and EXCEEDS and NOTHING FITS in red.
std::string with_coloured_verdicts(std::string text);

}  // namespace headroom
