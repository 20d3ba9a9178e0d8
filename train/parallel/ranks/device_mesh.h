// The ranks of a run: which one this process is, and the process groups along every axis.
//
// Note [One device_mesh]
// Rationale: every scheme talks along one axis: replicas add gradients, tensor ranks sums of
//   products, stages activations. Who makes groups of its own has to know all the others'.
// Approach: one object names every group once. Ranks meet in a TCPStore at what a launcher's
//   environment says (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun's; OMPI_COMM_WORLD_RANK
//   and _SIZE, PMI_RANK and _SIZE: mpirun's). The store is rank 0's, or the launcher's where it has
//   one (torchrun: TORCHELASTIC_USE_AGENT_STORE). Groups are torch's: ProcessGroupGloo on the CPU,
//   ProcessGroupNCCL on a card, real or virtual. An axis of one rank has no group.
//   Where replicas share in groups (Note [Groups that share]) each of the two kinds has one, too.
// Limits: all ranks of a mesh; there is no spare one, and none comes later.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/agreement.h"
#include "train/parallel/ranks/rank_group.h"
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

class DeviceMesh {
 public:
  // Waits for all ranks, up to `patience`, which is also how long a collective waits for the
  // others. said: what all have to have alike; shard_group: replicas that share, 0 = all. Throws as
  // agree().
  DeviceMesh(const Mesh& mesh, const Launched& launched, torch::Device device,
             std::chrono::milliseconds patience, const std::vector<AgreedSetting>& said,
             int64_t shard_group = 0);

  // Of groups that are there already, one for each axis of more than one rank.
  using GroupPtr = std::shared_ptr<RankGroup>;
  using Groups = std::array<GroupPtr, kMeshAxes.size()>;
  DeviceMesh(const Mesh& mesh, int64_t rank, Groups groups);

  // When a rank is through: nothing is said to the others any more. The one that has the store
  // waits until all are. Not after a failure, when some of them may not answer.
  void leave() const;

  // Without a collective, whose bytes would be counted and whose tensors would lie on the card:
  // whether it is so on every rank, when all have asked; waits for who writes to a slow disk.
  // Throws c10::Error where one does not come.
  bool all(bool here) const;
  // What the first rank says.
  std::string of_first(const std::string& here) const;

  const Mesh& mesh() const { return mesh_; }
  int64_t rank() const { return rank_; }
  int64_t place(MeshAxis axis) const { return mesh_.place(rank_, axis); }
  int64_t size(MeshAxis axis) const { return mesh_.size(axis); }
  // Of the ranks that differ from this one along the axis alone; null: there is none.
  const std::shared_ptr<RankGroup>& group(MeshAxis axis) const {
    return groups_.at(static_cast<size_t>(axis));
  }
  // Of the replicas that share with this one, and of those that have what it has; null: no other.
  const std::shared_ptr<RankGroup>& sharers() const { return sharers_; }
  const std::shared_ptr<RankGroup>& copies() const { return copies_; }
  // Those of them that there are, by what their traffic is called: "dp", "dp copies".
  using NamedGroup = std::pair<std::string, const RankGroup*>;
  std::vector<NamedGroup> groups() const;

 private:
  // name: that no other group of the run has, and all of its ranks know.
  GroupPtr join(const std::string& name, int64_t place, int64_t size, torch::Device device);
  Mesh mesh_;
  int64_t rank_ = 0;
  std::chrono::milliseconds patience_ = {};
  c10::intrusive_ptr<c10d::Store> store_;
  mutable int64_t said_ = 0;  // through the store, so far
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends_;
  Groups groups_ = {};
  GroupPtr sharers_, copies_;
};

}  // namespace headroom
