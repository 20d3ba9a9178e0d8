#include "text/rows.h"

#include <cassert>
#include <utility>

namespace headroom {
namespace {

constexpr size_t kMore = 0x80;  // set in a byte of a length that has further ones

std::string packed(const Cells& row) {
  size_t size = row.size();
  for (const std::string& cell : row) size += cell.size();
  std::string text;
  text.reserve(size);
  for (const std::string& cell : row) {
    size_t length = cell.size();
    for (; length >= kMore; length /= kMore) {
      text += static_cast<char>(length % kMore + kMore);
    }
    text += static_cast<char>(length);
    text += cell;
  }
  return text;
}

Cells unpacked(const std::string& text) {
  Cells row;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (size_t scale = 1;; scale *= kMore) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      length += byte % kMore * scale;
      if (byte < kMore) break;
    }
    row.emplace_back(text, at, length);
    at += length;
  }
  return row;
}

}  // namespace

void Rows::push_back(Cells row) {
  if (!empty()) packed_.push_back(packed(last_));
  last_ = std::move(row);
  ++size_;
}

Cells Rows::operator[](size_t at) const {
  assert(at < size_);
  return at + 1 == size_ ? last_ : unpacked(packed_[at]);
}

}  // namespace headroom
