// The ranks of a run: this process's place, and the process groups along every axis.
//
// Note [One device_mesh]
// Rationale: every scheme communicates along one axis: replicas add gradients, tensor ranks add
//   products, stages send activations. Code with its own groups has to know all others.
// Approach: one object names every group once. Ranks meet in a TCPStore at the address in the
//   environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun's; OMPI_COMM_WORLD_RANK and
//   _SIZE, PMI_RANK and _SIZE: mpirun's). Rank 0 hosts the store, or the launcher if it has one
//   (torchrun: TORCHELASTIC_USE_AGENT_STORE). Groups are torch's: ProcessGroupGloo on the CPU,
//   ProcessGroupNCCL on a card, real or virtual. An axis of one rank has no group.
//   If replicas share in groups (Note [Groups that share]), sharers and copies have a group too.
// Limits: all ranks of a mesh are needed from the start; there are no spare ones.
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
#include "train/settings/vocabulary/mesh.h"

namespace headroom {

// The launcher's data. Throws UsageError, one line, if it is missing or contradicts the mesh.
struct Launched {
  int64_t rank = 0;
  int64_t ranks = 1;
  std::string address;
  int64_t port = 0;
  bool alone = false;               // Note [A rank alone]
  bool launcher_has_store = false;  // else rank 0 hosts it
};
Launched launched(const Mesh& mesh);

// This process's rank on its machine, from the same launcher.
int64_t local_rank();

// How long ranks wait for each other (kRankPatience).
std::chrono::milliseconds rank_patience();

class DeviceMesh {
 public:
  // Waits for all ranks, up to `patience`, which is also the timeout of a collective. said:
  // settings that must be equal on all ranks; shard_group: replicas per group, 0 = all. Throws as
  // agree().
  DeviceMesh(const Mesh& mesh, const Launched& launched, torch::Device device,
             std::chrono::milliseconds patience, const std::vector<AgreedSetting>& said,
             int64_t shard_group = 0);

  // From existing groups, one for each axis of more than one rank.
  using GroupPtr = std::shared_ptr<RankGroup>;
  using Groups = std::array<GroupPtr, kMeshAxes.size()>;
  DeviceMesh(const Mesh& mesh, int64_t rank, Groups groups);

  // Call when this rank is finished. The rank that hosts the store waits until all have left. Do
  // not call after a failure: some ranks may not answer.
  void leave() const;

  // True if `here` is true on every rank. Uses the store: a collective would count bytes and put
  // tensors on the card. Waits for ranks that write to a slow disk. Throws c10::Error if one does
  // not come.
  bool all(bool here) const;
  // The first rank's text.
  std::string of_first(const std::string& here) const;

  const Mesh& mesh() const { return mesh_; }
  int64_t rank() const { return rank_; }
  int64_t place(MeshAxis axis) const { return mesh_.place(rank_, axis); }
  int64_t size(MeshAxis axis) const { return mesh_.size(axis); }
  // The ranks that differ from this one only along the axis; null: none.
  const std::shared_ptr<RankGroup>& group(MeshAxis axis) const {
    return groups_.at(static_cast<size_t>(axis));
  }
  // The replicas that share with this one, and those with the same parts; null: none.
  const std::shared_ptr<RankGroup>& sharers() const { return sharers_; }
  const std::shared_ptr<RankGroup>& copies() const { return copies_; }
  // The groups that exist, by the name of their traffic: "dp", "dp copies".
  using NamedGroup = std::pair<std::string, const RankGroup*>;
  std::vector<NamedGroup> groups() const;

 private:
  // name: unique in the run, and equal on all ranks of the group.
  GroupPtr join(const std::string& name, int64_t place, int64_t size, torch::Device device);
  Mesh mesh_;
  int64_t rank_ = 0;
  std::chrono::milliseconds patience_ = {};
  c10::intrusive_ptr<c10d::Store> store_;
  mutable int64_t said_ = 0;  // messages through the store so far
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends_;
  Groups groups_ = {};
  GroupPtr sharers_, copies_;
};

}  // namespace headroom
