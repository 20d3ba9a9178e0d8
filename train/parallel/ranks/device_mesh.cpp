#define USE_C10D_GLOO  // as in libtorch's build: without it the headers are empty
#define USE_C10D_NCCL
#include "train/parallel/ranks/device_mesh.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "text/quantity.h"
#include "train/parallel/data/shard_groups.h"
#include "train/parallel/ranks/launch_variables.h"
#include "train/parallel/ranks/single_rank_store.h"

namespace headroom {
namespace {

using VariableNames = std::initializer_list<const char*>;

std::string from_environment(VariableNames names) { return first_set(names); }

template <typename Names = VariableNames>
int64_t number(const char* what, const Names& names, int64_t most) {
  const std::string text = first_set(names);
  if (text.empty()) {
    throw UsageError("--mesh: no launcher has set the " + std::string(what) + " (" +
                     std::string(*names.begin()) +
                     " is not set); start the ranks by headroom profile, or by torchrun "
                     "(example: scripts/launch.sh)");
  }
  return parse_integer(*names.begin(), text, 0, most);
}

// One name for all ranks that differ from `rank` only along the axis.
std::string name_of_group(const Mesh& mesh, int64_t rank, MeshAxis axis) {
  return to_string(axis) + "/" + std::to_string(mesh.neighbour(rank, axis, 0));
}

c10::intrusive_ptr<c10d::Store> meet(const Launched& launched, std::chrono::milliseconds patience) {
  if (launched.alone) return c10::make_intrusive<SingleRankStore>();
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launched.port);
  options.isServer = launched.rank == 0 && !launched.launcher_has_store;
  options.waitWorkers = false;  // agree() waits, and names missing ranks
  options.timeout = patience;
  auto store = c10::make_intrusive<c10d::TCPStore>(launched.address, options);
  if (!launched.launcher_has_store) return store;
  // The launcher's store also serves others and restarted runs.
  const std::string name = "headroom/" + from_environment({"TORCHELASTIC_RUN_ID"}) + "/" +
                           from_environment({"TORCHELASTIC_RESTART_COUNT"});
  return c10::make_intrusive<c10d::PrefixStore>(name, std::move(store));
}

c10::intrusive_ptr<c10d::Backend> gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                             int64_t place, int64_t size,
                                             std::chrono::milliseconds patience) {
  auto options = c10d::ProcessGroupGloo::Options::create(patience);
  options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(place),
                                                     static_cast<int>(size), options);
}

c10::intrusive_ptr<c10d::Backend> nccl_group(const c10::intrusive_ptr<c10d::Store>& store,
                                             int64_t place, int64_t size,
                                             std::chrono::milliseconds patience) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = patience;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(place),
                                                     static_cast<int>(size), options);
}

}  // namespace

Launched launched(const Mesh& mesh) {
  constexpr int64_t kMostRanks = 1 << 20;
  const Launched all = {
      .rank = number("rank", kRankVariables, kMostRanks),
      .ranks =
          number("number of ranks", {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, kMostRanks),
      .address = from_environment({"MASTER_ADDR"}),
      .port = number("port of rank 0", {"MASTER_PORT"}, 65535),
      .alone = from_environment({kRankAlone}) == "1",
      .launcher_has_store = from_environment({"TORCHELASTIC_USE_AGENT_STORE"}) == "True"};
  if (all.address.empty()) {
    throw UsageError(
        "--mesh: no launcher has set the address of rank 0 (MASTER_ADDR is not set; "
        "example: MASTER_ADDR=10.0.0.1 MASTER_PORT=29500)");
  }
  if (all.ranks != mesh.ranks()) {
    throw UsageError("--mesh", to_string(mesh),
                     "has " + std::to_string(mesh.ranks()) + " ranks, and the launcher started " +
                         std::to_string(all.ranks),
                     "--mesh dp=" + std::to_string(all.ranks));
  }
  return all;
}

int64_t local_rank() {
  return number("rank on this machine",
                {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "RANK"}, 1 << 20);
}

std::chrono::milliseconds rank_patience() {
  constexpr int64_t kUsual = 5 * 60 * 1000;
  const std::string said = from_environment({kRankPatience});
  return std::chrono::milliseconds(said.empty() ? kUsual
                                                : parse_integer(kRankPatience, said, 1, 1 << 30));
}

DeviceMesh::DeviceMesh(const Mesh& mesh, const Launched& launched, torch::Device device,
                       std::chrono::milliseconds patience, const std::vector<AgreedSetting>& said,
                       int64_t shard_group)
    : mesh_(mesh), rank_(launched.rank), patience_(patience), store_(meet(launched, patience)) {
  if (!launched.alone) agree(*store_, rank_, launched.ranks, said, patience);
  for (const MeshAxis axis : kMeshAxes) {
    if (size(axis) == 1) continue;
    groups_.at(static_cast<size_t>(axis)) =
        join(name_of_group(mesh_, rank_, axis), place(axis), size(axis), device);
  }
  sharers_ = group(MeshAxis::kData);
  const ShardGroups groups(mesh_, shard_group);
  if (groups.groups() == 1) return;
  sharers_ = join("sharers/" + std::to_string(groups.sharers(rank_).front()), groups.part(rank_),
                  groups.size(), device);
  copies_ = join("copies/" + std::to_string(groups.copies(rank_).front()), groups.group(rank_),
                 groups.groups(), device);
}

DeviceMesh::GroupPtr DeviceMesh::join(const std::string& name, int64_t place, int64_t size,
                                      torch::Device device) {
  const auto names = c10::make_intrusive<c10d::PrefixStore>(name, store_);
  const auto make = device.is_cuda() ? nccl_group : gloo_group;
  backends_.push_back(make(names, place, size, patience_));
  return std::make_shared<RankGroup>(backends_.back());
}

std::vector<DeviceMesh::NamedGroup> DeviceMesh::groups() const {
  std::vector<NamedGroup> all;
  for (const MeshAxis axis : kMeshAxes) {
    if (group(axis) != nullptr) all.emplace_back(to_string(axis), group(axis).get());
  }
  const std::string replicas = to_string(MeshAxis::kData);
  if (copies_ != nullptr) {
    all.emplace_back(replicas, sharers_.get());
    all.emplace_back(replicas + " copies", copies_.get());
  }
  return all;
}

bool DeviceMesh::all(bool here) const {
  constexpr int64_t kSlowDisk = 12;  // times a collective's timeout: an hour
  const std::string name = "said/" + std::to_string(++said_);
  if (!here) store_->add(name + "/no", 1);
  if (store_->add(name, 1) == mesh_.ranks()) {
    store_->set(name + "/all", store_->add(name + "/no", 0) == 0 ? "yes" : "no");
  }
  store_->wait({name + "/all"}, patience_ * kSlowDisk);
  return store_->get_to_str(name + "/all") == "yes";
}

std::string DeviceMesh::of_first(const std::string& here) const {
  const std::string name = "said/" + std::to_string(++said_);
  if (rank_ == 0) store_->set(name, here);
  store_->wait({name}, patience_);
  return store_->get_to_str(name);
}

DeviceMesh::DeviceMesh(const Mesh& mesh, int64_t rank, Groups groups)
    : mesh_(mesh), rank_(rank), groups_(std::move(groups)), sharers_(group(MeshAxis::kData)) {}

void DeviceMesh::leave() const {
  if (!store_) return;
  for (const auto& backend : backends_) backend->shutdown();
  const std::string all = "all have left";
  if (store_->add("left", 1) == mesh_.ranks()) store_->set(all, "yes");
  if (rank_ == 0) store_->wait({all}, patience_);
}

}  // namespace headroom
