// Which replicas share with which, and which are copies of each other. No torch here.
//
// Note [Groups that share]
// Rationale: weights that all replicas share are gathered from all of them, block by block, several
//   times a step: over the slowest link between any two (hybrid sharding: PyTorch FSDP, Zhao et al.
//   2023, section 3.2.2). Replicas of one machine that share among themselves gather inside it, and
//   only their parts of the gradients' sum go further, once a step.
// Approach: neighbouring replicas are a group, in which each has a part of everything that is
//   shared; the groups are copies of each other. Gradients are summed and cut in the group
//   (reduce-scatter), and the parts' sums over the ranks that have the same part in the other
//   groups (all-reduce). Then copies have the same gradients, and what they do with them is the
//   same: the norm of all gradients is a sum over one group.
// Limits: all groups are of one size. Copies are never compared: what adds numbers up in another
//   order on another machine makes their weights differ in the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "train/vocabulary/mesh.h"

namespace headroom {

class ShardGroups {
 public:
  // size: replicas of a group, which divides all of them; 0 = one group of all.
  ShardGroups(const Mesh& mesh, int64_t size);

  int64_t size() const { return size_; }
  int64_t groups() const { return mesh_.size(MeshAxis::kData) / size_; }
  // Which part a rank has, and in which group.
  int64_t part(int64_t rank) const { return mesh_.place(rank, MeshAxis::kData) % size_; }
  int64_t group(int64_t rank) const { return mesh_.place(rank, MeshAxis::kData) / size_; }
  // With this rank in one group, by their parts; and all that have its part, by their groups.
  std::vector<int64_t> sharers(int64_t rank) const;
  std::vector<int64_t> copies(int64_t rank) const;

 private:
  Mesh mesh_;
  int64_t size_;
};

}  // namespace headroom
