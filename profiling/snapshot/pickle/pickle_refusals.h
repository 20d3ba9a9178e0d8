// The reasons why a pickle is refused. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

// For bytes that do not begin like a pickle of protocol 2 or later.
std::string why_not_a_pickle(std::string_view bytes);

// "opcode GLOBAL is refused: it would call code, and a snapshot is data only". For an opcode that
// the reader does not execute.
std::string why_refused(uint8_t opcode);

}  // namespace headroom
