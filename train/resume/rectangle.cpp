#include "train/resume/rectangle.h"

#include <algorithm>
#include <cassert>

namespace headroom {

int64_t Rectangle::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

Rectangle whole_of(const std::vector<int64_t>& shape) {
  return {std::vector<int64_t>(shape.size(), 0), shape};
}

std::optional<Rectangle> overlap(const Rectangle& a, const Rectangle& b) {
  Rectangle both;
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    const int64_t begin = std::max(a.offsets[i], b.offsets[i]);
    const int64_t end = std::min(a.offsets[i] + a.sizes[i], b.offsets[i] + b.sizes[i]);
    if (begin >= end) return std::nullopt;
    both.offsets.push_back(begin);
    both.sizes.push_back(end - begin);
  }
  return both;
}

std::vector<Rectangle> rectangles_of(const Rectangle& box, int64_t begin, int64_t length) {
  assert(box.sizes.size() == 1 || box.sizes.size() == 2);
  if (length == 0) return {};
  if (length == box.numel()) return {box};
  if (box.sizes.size() == 1) return {{{box.offsets[0] + begin}, {length}}};
  const int64_t width = box.sizes[1];
  std::vector<Rectangle> all;
  while (length > 0) {
    const int64_t column = begin % width;
    const int64_t rows = column == 0 ? std::max<int64_t>(length / width, 1) : 1;
    const int64_t columns = std::min(length, width - column);
    all.push_back({{box.offsets[0] + begin / width, box.offsets[1] + column}, {rows, columns}});
    begin += rows * columns;
    length -= rows * columns;
  }
  return all;
}

std::string in_words(const Rectangle& rectangle) {
  std::string text = "[";
  for (size_t i = 0; i < rectangle.sizes.size(); ++i) {
    const int64_t begin = rectangle.offsets[i];
    text += (i == 0 ? "" : ", ") + std::to_string(begin) + ":" +
            std::to_string(begin + rectangle.sizes[i]);
  }
  return text + "]";
}

}  // namespace headroom
