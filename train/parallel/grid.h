// The ranks of a run: which one this process is, and the process groups along every axis.
//
// Note [One grid]
// Rationale: every scheme talks along one axis: replicas add gradients, tensor ranks sums of
//   products, stages activations. Who makes groups of its own has to know all the others'.
// Approach: one object names every group once. Ranks meet in a TCPStore at what a launcher's
//   environment says (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun's; OMPI_COMM_WORLD_RANK
//   and _SIZE, PMI_RANK and _SIZE: mpirun's). The store is rank 0's, or the launcher's where it has
//   one (torchrun: TORCHELASTIC_USE_AGENT_STORE). Groups are torch's: ProcessGroupGloo on the CPU,
//   ProcessGroupNCCL on a card, real or virtual. An axis of one rank has no group.
// Limits: all ranks of a mesh; there is no spare one, and none comes later.
#pragma once

#include <torch/torch.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "train/parallel/agreement.h"
#include "train/parallel/rank_group.h"
#include "train/vocabulary/mesh.h"

namespace headroom {

// What a launcher says. Throws UsageError, one line, where it says nothing or contradicts the mesh.
struct Launched {
  int64_t rank = 0;
  int64_t ranks = 1;
  std::string address;
  int64_t port = 0;
  bool alone = false;               // Note [A rank alone]
  bool launcher_has_store = false;  // else rank 0
};
Launched launched(const Mesh& mesh);

// Which of this machine's ranks this process is, by the same launcher.
int64_t local_rank();

// How long ranks wait for each other (kRankPatience).
std::chrono::milliseconds rank_patience();

class Grid {
 public:
  // Waits for all ranks, up to `patience`, which is also how long a collective waits for the
  // others. said: what all have to have alike. Throws as agree().
  Grid(const Mesh& mesh, const Launched& launched, torch::Device device,
       std::chrono::milliseconds patience, const std::vector<Said>& said);

  // Of groups that are there already, one for each axis of more than one rank.
  using Groups = std::array<std::shared_ptr<RankGroup>, kMeshAxes.size()>;
  Grid(const Mesh& mesh, int64_t rank, Groups groups);

  // When a rank is through: nothing is said to the others any more. The one that has the store
  // waits until all are. Not after a failure, when some of them may not answer.
  void leave() const;

  const Mesh& mesh() const { return mesh_; }
  int64_t rank() const { return rank_; }
  int64_t place(MeshAxis axis) const { return mesh_.place(rank_, axis); }
  int64_t size(MeshAxis axis) const { return mesh_.size(axis); }
  // Of the ranks that differ from this one along the axis alone; null: there is none.
  const std::shared_ptr<RankGroup>& group(MeshAxis axis) const {
    return groups_.at(static_cast<size_t>(axis));
  }

 private:
  Mesh mesh_;
  int64_t rank_ = 0;
  std::chrono::milliseconds patience_ = {};
  c10::intrusive_ptr<c10d::Store> store_;
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends_;
  Groups groups_ = {};
};

}  // namespace headroom
