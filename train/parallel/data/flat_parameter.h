// Parameters concatenated in one tensor, cut into equal parts, one for each replica. No torch here.
//
// Note [Flat units]
// Rationale: replicas gather and scatter their shards in large pieces. With one tensor for all
//   parameters of a block, this is one call without extra copies.
// Approach: every parameter and every part begins at a multiple of kFlatAlignment elements; the
//   tensor is padded behind each part. A replica owns the piece of each parameter inside its part.
//   The optimizer gets these pieces under their parameters' names, so decisions per block of a
//   tensor (8-bit moments) equal those for the whole tensor.
// Limits: less than 256 elements are lost for each parameter and each replica of a unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

// In elements. A multiple of the blocks of 8-bit moments and of the alignment that kernels want.
inline constexpr int64_t kFlatAlignment = 256;

class FlatParameter {
 public:
  // The piece of one parameter inside a part.
  struct Piece {
    size_t parameter = 0;
    int64_t begin = 0;    // elements, in the parameter
    int64_t length = 0;   // elements
    int64_t in_part = 0;  // where the piece begins in the part
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
