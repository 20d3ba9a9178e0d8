// Groups of replicas that shard together, and groups of copies. No torch here.
//
// Note [Groups that share]
// Rationale: weights that all replicas share are gathered from all of them, block by block, several
//   times a step, over the slowest link (hybrid sharding: PyTorch FSDP, Zhao et al. 2023, section
//   3.2.2). If the replicas of one machine share only among themselves, they gather inside it, and
//   only their parts of the summed gradients leave it, once a step.
// Approach: a group is a run of neighbouring replicas, each with a part of everything that is
//   sharded; the groups are copies of each other. Gradients are reduce-scattered in the group, then
//   all-reduced over the ranks with the same part in the other groups. Copies then have the same
//   gradients and do the same with them: the norm of all gradients is a sum over one group.
// Limits: all groups have one size. Copies are never compared: if machines sum in different orders,
//   their weights differ in the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "train/settings/vocabulary/mesh.h"

namespace headroom {

class ShardGroups {
 public:
  // size: replicas per group, a divisor of their number; 0 = one group of all.
  ShardGroups(const Mesh& mesh, int64_t size);

  int64_t size() const { return size_; }
  int64_t groups() const { return mesh_.size(MeshAxis::kData) / size_; }
  // A rank's part, and its group.
  int64_t part(int64_t rank) const { return mesh_.place(rank, MeshAxis::kData) % size_; }
  int64_t group(int64_t rank) const { return mesh_.place(rank, MeshAxis::kData) / size_; }
  // The ranks of this rank's group, by part; and all ranks with its part, by group.
  std::vector<int64_t> sharers(int64_t rank) const;
  std::vector<int64_t> copies(int64_t rank) const;

 private:
  Mesh mesh_;
  int64_t size_;
};

}  // namespace headroom
