// What the terminal behind stdout can show. No torch here.
#pragma once

#include <string>

namespace headroom {

// Whether the locale's character set is UTF-8, as the C library decides it: LC_ALL before LC_CTYPE
// before LANG, the first that is not empty; none of them is plain ASCII.
bool locale_is_utf8();

// Whether stdout is a terminal that takes colours: not TERM=dumb, and NO_COLOR is not set.
bool takes_colour();

// Text with FITS in green and EXCEEDS and NOTHING FITS in red.
std::string with_coloured_verdicts(std::string text);

}  // namespace headroom
