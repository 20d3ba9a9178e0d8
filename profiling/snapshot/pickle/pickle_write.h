// Writes a pickle (protocol 2) as a stream, with only the opcodes that memory_viz reads. No torch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/replace_file.h"

namespace headroom {

// Note [Batches of a thousand]
// Rationale: libtorch's own C++ pickler writes a list as one MARK ... APPENDS. The viewer passes
//   the whole batch to one JavaScript call, which throws RangeError somewhere past 125,000 items.
// Approach: a list is closed with APPENDS and reopened with MARK every kBatch items, as CPython
//   does.
// Limits: dicts are written as one batch; ours have at most 16 entries.
class PickleWriter {
 public:
  static constexpr uint32_t kBatch = 1000;
  using Text = uint32_t;  // handle of a string that is written once and then referenced

  explicit PickleWriter(ReplaceFile& file);

  // A text gets its memo number when it is interned. Texts interned first (the keys of every event)
  // get the short two-byte references.
  Text intern(std::string_view text);

  void write(int64_t value);
  void write_unsigned(uint64_t value);
  void write(double value);
  void write(bool value);
  void write_text(Text text);
  void write_text(std::string_view text) { write_text(intern(text)); }

  void begin_dict();
  void key(Text name) { write_text(name); }  // then exactly one value
  void end_dict();
  void begin_list();
  void item();  // before each value of the list
  void end_list();
  void end_pair();  // the last two values become a tuple

  // Memoizes the value just written (call right after begin_list, before the first item, or after
  // end_dict). write_reference(number) then stands for the same object.
  uint32_t memoize();
  void write_reference(uint32_t memo);

  void finish();  // writes STOP and hands all bytes to the file

 private:
  struct InternedText {
    std::string utf8;
    uint32_t memo = 0;
    bool written = false;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void byte(uint8_t value) { buffer_.push_back(static_cast<char>(value)); }
  void little_endian(uint64_t value, int bytes);
  void put(uint32_t memo);
  void flush_if_full();

  ReplaceFile& file_;
  std::string buffer_;
  std::vector<InternedText> texts_;
  std::unordered_map<std::string, Text, TextHash, std::equal_to<>> text_by_name_;
  std::vector<uint32_t> open_lists_;  // item counts of the lists being written
  uint32_t next_memo_ = 0;
};

// The text with every byte that is not UTF-8 replaced by U+FFFD: Python and the viewer refuse or
// garble anything else.
std::string to_utf8(std::string_view text);

}  // namespace headroom
