#include "profiling/snapshot/pickle/pickle_write.h"

#include <bit>
#include <cassert>

namespace headroom {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// Length of the UTF-8 character at the start of `text`; 0 if there is none.
size_t character_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  // Invalid: overlong forms, UTF-16 surrogates and code points past U+10FFFF.
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) > 0x9F) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string to_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) {
      clean += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      clean += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

PickleWriter::PickleWriter(ReplaceFile& file) : file_(file) {
  buffer_.reserve(kBufferBytes + 4096);
  byte(0x80);  // PROTO
  byte(2);
}

PickleWriter::Text PickleWriter::intern(std::string_view text) {
  const auto found = text_by_name_.find(text);
  if (found != text_by_name_.end()) return found->second;
  const Text handle = static_cast<Text>(texts_.size());
  texts_.push_back({.utf8 = to_utf8(text), .memo = next_memo_++});
  text_by_name_.emplace(text, handle);
  return handle;
}

void PickleWriter::little_endian(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
}

void PickleWriter::flush_if_full() {
  if (buffer_.size() < kBufferBytes) return;
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void PickleWriter::write(int64_t value) {
  if (value >= 0 && value <= 0xFF) {
    byte('K');  // BININT1
    little_endian(static_cast<uint64_t>(value), 1);
  } else if (value >= 0 && value <= 0xFFFF) {
    byte('M');  // BININT2
    little_endian(static_cast<uint64_t>(value), 2);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    byte('J');  // BININT
    little_endian(static_cast<uint64_t>(value), 4);
  } else {
    int bytes = 5;  // the fewest that keep the sign bit
    while (bytes < 8 && (value >> (8 * bytes - 1)) != 0 && (value >> (8 * bytes - 1)) != -1) {
      ++bytes;
    }
    byte(0x8A);  // LONG1
    byte(static_cast<uint8_t>(bytes));
    little_endian(static_cast<uint64_t>(value), bytes);
  }
}

void PickleWriter::write_unsigned(uint64_t value) {
  if (value <= INT64_MAX) return write(static_cast<int64_t>(value));
  byte(0x8A);  // LONG1 of nine bytes: the viewer cannot add such a number to others
  byte(9);
  little_endian(value, 8);
  byte(0);
}

void PickleWriter::write(double value) {
  byte('G');  // BINFLOAT, big-endian
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  for (int i = 7; i >= 0; --i) byte(static_cast<uint8_t>(bits >> (8 * i)));
}

void PickleWriter::write(bool value) { byte(value ? 0x88 : 0x89); }  // NEWTRUE, NEWFALSE

void PickleWriter::put(uint32_t memo) {
  byte(memo <= 0xFF ? 'q' : 'r');  // BINPUT, LONG_BINPUT
  little_endian(memo, memo <= 0xFF ? 1 : 4);
}

void PickleWriter::write_reference(uint32_t memo) {
  byte(memo <= 0xFF ? 'h' : 'j');  // BINGET, LONG_BINGET
  little_endian(memo, memo <= 0xFF ? 1 : 4);
}

void PickleWriter::write_text(Text text) {
  InternedText& interned = texts_[text];
  if (interned.written) return write_reference(interned.memo);
  byte('X');  // BINUNICODE
  little_endian(interned.utf8.size(), 4);
  buffer_ += interned.utf8;
  put(interned.memo);
  interned.written = true;
  interned.utf8 = {};
}

uint32_t PickleWriter::memoize() {
  put(next_memo_);
  return next_memo_++;
}

void PickleWriter::begin_dict() {
  byte('}');  // EMPTY_DICT
  byte('(');  // MARK
}

void PickleWriter::end_dict() {
  byte('u');  // SETITEMS
  flush_if_full();
}

void PickleWriter::begin_list() {
  byte(']');  // EMPTY_LIST
  open_lists_.push_back(0);
}

void PickleWriter::item() {
  assert(!open_lists_.empty());
  uint32_t& count = open_lists_.back();
  if (count % kBatch == 0) {
    if (count > 0) byte('e');  // APPENDS
    byte('(');                 // MARK
  }
  ++count;
}

void PickleWriter::end_list() {
  assert(!open_lists_.empty());
  if (open_lists_.back() > 0) byte('e');  // APPENDS
  open_lists_.pop_back();
  flush_if_full();
}

void PickleWriter::end_pair() { byte(0x86); }  // TUPLE2

void PickleWriter::finish() {
  assert(open_lists_.empty());
  byte('.');  // STOP
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

}  // namespace headroom
