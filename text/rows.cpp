#include "text/rows.h"

#include <cassert>
#include <utility>

namespace headroom {
namespace {

constexpr size_t kBlock = size_t{1} << 20;  // bytes; a row that begins inside may end beyond
constexpr size_t kMore = 0x80;              // set in a byte that has more after it

void add_length(std::string& text, size_t length) {
  for (; length >= kMore; length /= kMore) text += static_cast<char>(length % kMore + kMore);
  text += static_cast<char>(length);
}

// Advances `at` past the length.
size_t length_at(std::string_view text, size_t& at) {
  size_t length = 0;
  for (size_t scale = 1;; scale *= kMore) {
    const auto byte = static_cast<unsigned char>(text[at++]);
    length += byte % kMore * scale;
    if (byte < kMore) return length;
  }
}

}  // namespace

void Rows::pack(const Cells& row) {
  if (blocks_.empty() || blocks_.back().size() >= kBlock) blocks_.emplace_back();
  std::string& text = blocks_.back();
  packed_.push_back(
      {static_cast<uint32_t>(blocks_.size() - 1), static_cast<uint32_t>(text.size())});
  add_length(text, row.size());
  for (const std::string& cell : row) {
    add_length(text, cell.size());
    text += cell;
  }
}

void Rows::push_back(Cells row) {
  if (!empty()) pack(last_);
  last_ = std::move(row);
  ++size_;
}

void Rows::look(size_t at, std::vector<std::string_view>& cells) const {
  assert(at < size_);
  if (at + 1 == size_) {
    cells.assign(last_.begin(), last_.end());
    return;
  }
  const std::string_view text = blocks_[packed_[at].block];
  size_t begin = packed_[at].begin;
  cells.resize(length_at(text, begin));
  for (std::string_view& cell : cells) {
    const size_t length = length_at(text, begin);
    cell = text.substr(begin, length);
    begin += length;
  }
}

Cells Rows::operator[](size_t at) const {
  std::vector<std::string_view> cells;
  look(at, cells);
  return {cells.begin(), cells.end()};
}

}  // namespace headroom
