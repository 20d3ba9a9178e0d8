// A part of a tensor: some rows and columns of a matrix, some elements of a vector. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct Rectangle {
  std::vector<int64_t> offsets;  // of its first element, along each dimension
  std::vector<int64_t> sizes;

  int64_t numel() const;
  bool operator==(const Rectangle&) const = default;
};

// The whole of a tensor.
Rectangle whole_of(const std::vector<int64_t>& shape);

// The common part of two parts of one tensor; nothing if they do not overlap.
std::optional<Rectangle> overlap(const Rectangle& a, const Rectangle& b);

// `length` elements of `box` from `begin` on, in memory order, row by row: the rest of a row, whole
// rows, and the beginning of one, without empty ones. For one or two dimensions.
std::vector<Rectangle> rectangles_of(const Rectangle& box, int64_t begin, int64_t length);

// Python's notation: "[16:32, 0:64]".
std::string in_words(const Rectangle& rectangle);

}  // namespace headroom
