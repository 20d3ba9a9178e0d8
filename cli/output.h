// Data on stdout, and what happens when it does not go through.
#pragma once

#include <string_view>

namespace headroom {

// A program started with stdout closed would print into the first file it opens. Makes sure that
// descriptors 0 to 2 are taken; those that were closed fail to write. First thing in main().
void hold_standard_descriptors();

// Writes all of it. Quiet when the reader has gone ("| head"; SIGPIPE must be ignored, see
// bench/process/interrupt.h); std::runtime_error (one line) on any other failure, a full disk for
// one.
void print(std::string_view text);

}  // namespace headroom
