// Data on stdout, and what happens when it does not go through.
#pragma once

#include <string_view>

namespace headroom {

// Keeps the program alive when a reader of its output goes away ("| head"): the write fails
// instead. A handler, not SIG_IGN, which the programs we start would inherit.
void survive_closed_pipes();

// Writes all of it. Quiet when the reader has gone; std::runtime_error (one line) on any other
// failure, a full disk for one.
void print(std::string_view text);

}  // namespace headroom
