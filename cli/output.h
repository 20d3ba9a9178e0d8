// Data on stdout, and what happens when it does not go through.
#pragma once

#include <string_view>

namespace headroom {

// Writes all of it. Quiet when the reader has gone ("| head"; SIGPIPE must be ignored, see
// bench/interrupt.h); std::runtime_error (one line) on any other failure, a full disk for one.
void print(std::string_view text);

}  // namespace headroom
