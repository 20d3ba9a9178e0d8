// Parameters that lie one behind the other in one tensor, cut into equal parts, one for each
// replica. No torch here.
//
// Note [Flat units]
// Rationale: what replicas share of a model is gathered and scattered in large pieces. One tensor
//   of all parameters of a block is one call and needs no copies beside it.
// Approach: every parameter begins at a multiple of kFlatAlignment elements, and so does every
//   part, behind which the tensor is padded. A replica owns what of each parameter lies in its
//   part: an optimizer is given these pieces under their parameters' names, so that what it decides
//   by blocks of a tensor (8-bit moments) it decides as one of the whole tensor does.
// Limits: less than 256 elements are lost for each parameter and each replica of a unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

// Elements. A multiple of the blocks of 8-bit moments and of what kernels want to begin at.
inline constexpr int64_t kFlatAlignment = 256;

class FlatParameter {
 public:
  // What of one parameter lies in a part.
  struct Piece {
    size_t parameter = 0;
    int64_t begin = 0;    // elements, in the parameter
    int64_t length = 0;   // elements
    int64_t in_part = 0;  // where it begins in the part
  };

  // numels: elements of each parameter; parts: replicas.
  FlatParameter(const std::vector<int64_t>& numels, int64_t parts);

  int64_t offset(size_t parameter) const { return offsets_[parameter]; }
  int64_t part_numel() const { return part_numel_; }
  int64_t numel() const { return part_numel_ * parts_; }  // with all padding
  std::vector<Piece> pieces(int64_t part) const;

 private:
  std::vector<int64_t> numels_, offsets_;
  int64_t parts_ = 1;
  int64_t part_numel_ = 0;
};

}  // namespace headroom
