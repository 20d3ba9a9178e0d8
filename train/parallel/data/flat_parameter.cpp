#include "train/parallel/data/flat_parameter.h"

#include <algorithm>

namespace headroom {
namespace {

int64_t aligned(int64_t elements) {
  return (elements + kFlatAlignment - 1) / kFlatAlignment * kFlatAlignment;
}

}  // namespace

FlatParameter::FlatParameter(const std::vector<int64_t>& numels, int64_t parts)
    : numels_(numels), parts_(parts) {
  int64_t end = 0;
  for (const int64_t numel : numels_) {
    offsets_.push_back(end);
    end += aligned(numel);
  }
  part_numel_ = aligned((end + parts_ - 1) / parts_);
}

std::vector<FlatParameter::Piece> FlatParameter::pieces(int64_t part) const {
  const int64_t from = part * part_numel_;
  const int64_t to = from + part_numel_;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < numels_.size(); ++i) {
    const int64_t begin = std::max(from, offsets_[i]);
    const int64_t end = std::min(to, offsets_[i] + numels_[i]);
    if (begin >= end) continue;
    pieces.push_back({.parameter = i,
                      .begin = begin - offsets_[i],
                      .length = end - begin,
                      .in_part = begin - from});
  }
  return pieces;
}

}  // namespace headroom
