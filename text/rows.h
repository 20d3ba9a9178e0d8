// The rows of a table in compact memory. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// One text per column.
using Cells = std::vector<std::string>;

// Note [Packed rows]
// Rationale: tables of a million Records have 45 columns, most of them a few characters wide. As
//   strings they take 1.5 KB a row, more than the Record itself.
// Approach: a row is packed behind the others when the next one is added, and unpacked on access.
//   The last one is not packed: back() may be written to.
// Limits: rows[i] and iterators return copies.
class Rows {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Cells;
    using difference_type = std::ptrdiff_t;
    using pointer = const Cells*;
    using reference = Cells;

    Iterator(const Rows& rows, size_t at) : rows_(&rows), at_(at) {}
    Cells operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Rows* rows_;
    size_t at_;
  };
  using value_type = Cells;
  using const_iterator = Iterator;

  Rows() = default;
  Rows(std::initializer_list<Cells> rows) {
    for (const Cells& row : rows) push_back(row);
  }

  void push_back(Cells row);
  Cells& back() { return last_; }
  const Cells& back() const { return last_; }
  Cells front() const { return (*this)[0]; }
  Cells operator[](size_t at) const;
  // Views of a row's texts in `cells`, valid until a row is added or written to.
  void look(size_t at, std::vector<std::string_view>& cells) const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  // All but the last row, in blocks: each cell's length, then its text.
  struct Place {
    uint32_t block;
    uint32_t begin;
  };
  void pack(const Cells& row);

  std::vector<std::string> blocks_;
  std::vector<Place> packed_;
  Cells last_;
  size_t size_ = 0;
};

}  // namespace headroom
