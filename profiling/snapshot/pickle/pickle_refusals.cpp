#include "profiling/snapshot/pickle/pickle_refusals.h"

#include <array>

namespace headroom {
namespace {

struct Refused {
  uint8_t opcode;
  const char* name;
  const char* why;
};
constexpr const char* kRunsCode = "it would call code, and a snapshot is data only";
constexpr const char* kNotRead = "memory_viz does not read it";
constexpr std::array<Refused, 27> kRefused = {{{'c', "GLOBAL", kRunsCode},
                                               {0x93, "STACK_GLOBAL", kRunsCode},
                                               {'R', "REDUCE", kRunsCode},
                                               {'b', "BUILD", kRunsCode},
                                               {'i', "INST", kRunsCode},
                                               {'o', "OBJ", kRunsCode},
                                               {0x81, "NEWOBJ", kRunsCode},
                                               {0x92, "NEWOBJ_EX", kRunsCode},
                                               {0x82, "EXT1", kRunsCode},
                                               {0x83, "EXT2", kRunsCode},
                                               {0x84, "EXT4", kRunsCode},
                                               {'P', "PERSID", kRunsCode},
                                               {'Q', "BINPERSID", kRunsCode},
                                               {'B', "BINBYTES", kNotRead},
                                               {'C', "SHORT_BINBYTES", kNotRead},
                                               {0x8E, "BINBYTES8", kNotRead},
                                               {0x96, "BYTEARRAY8", kNotRead},
                                               {0x8D, "BINUNICODE8", kNotRead},
                                               {0x8B, "LONG4", kNotRead},
                                               {0x8F, "EMPTY_SET", kNotRead},
                                               {0x90, "ADDITEMS", kNotRead},
                                               {0x91, "FROZENSET", kNotRead},
                                               {'0', "POP", kNotRead},
                                               {'1', "POP_MARK", kNotRead},
                                               {'2', "DUP", kNotRead},
                                               {'U', "SHORT_BINSTRING", kNotRead},
                                               {'T', "BINSTRING", kNotRead}}};

std::string hex_byte(uint8_t byte) {
  static const char* digits = "0123456789abcdef";
  return std::string("0x") + digits[byte >> 4] + digits[byte & 15];
}

}  // namespace

std::string why_not_a_pickle(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  if (bytes.starts_with("PK")) {
    return "a zip archive, as torch.save writes; a snapshot is a plain pickle";
  }
  if (bytes.front() == '{' || bytes.front() == '[') {
    return "JSON, not a pickle; headroom reads snapshots that are pickles";
  }
  return "not a pickle of protocol 2 or later: the first byte is " +
         hex_byte(static_cast<uint8_t>(bytes.front())) + ", not 0x80";
}

std::string why_refused(uint8_t opcode) {
  for (const Refused& refused : kRefused) {
    if (refused.opcode == opcode) {
      return std::string("opcode ") + refused.name + " is refused: " + refused.why;
    }
  }
  return "opcode " + hex_byte(opcode) + " is refused: " + kNotRead;
}

}  // namespace headroom
