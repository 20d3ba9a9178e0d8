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

// What two parts of one tensor share; nothing where they are apart.
std::optional<Rectangle> overlap(const Rectangle& a, const Rectangle& b);

// `length` elements of `box` from `begin` on, as they lie in memory, row by row: the rest of a row,
// whole rows, and the beginning of one, in this order, as many of these three as there are. Of one
// or two dimensions.
std::vector<Rectangle> rectangles_of(const Rectangle& box, int64_t begin, int64_t length);

// As Python says it: "[16:32, 0:64]".
std::string in_words(const Rectangle& rectangle);

}  // namespace headroom
