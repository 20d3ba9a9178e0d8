// What a pickle may not be or hold, and why. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

// Of bytes that do not begin as a pickle of protocol 2 or later.
std::string why_not_a_pickle(std::string_view bytes);

// "opcode GLOBAL is refused: it would call code, and a snapshot is data only". Of an opcode that
// the reader has no step for.
std::string why_refused(uint8_t opcode);

}  // namespace headroom
