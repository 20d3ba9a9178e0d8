#include "virtual_gpu/nccl/memory/own_memory.h"

#include <algorithm>
#include <utility>

#include "virtual_gpu/device/machine.h"

namespace virtual_gpu {
namespace {

struct Taken {
  std::mutex mutex;
  std::array<uint64_t, Machine::kMostDevices> now{};
  std::array<uint64_t, Machine::kMostDevices> peak{};
};

// Never destroyed: libraries end their communicators in their exit handlers.
Taken& taken() {
  static auto* all = new Taken();
  return *all;
}

NcclPlace place_of(const ncclComm& comm) {
  Machine& machine = Machine::get();
  const Card& card = machine.device(comm.device).card();
  return {.ranks = comm.size,
          .rank = comm.rank,
          .cards_a_host = machine.cards_of_host(),
          .nvlink_channels = card.nvlink_channels,
          .major = card.major,
          .minor = card.minor};
}

}  // namespace

NcclOwnMemory::NcclOwnMemory(ncclComm& comm)
    : comm_(comm),
      sizes_(place_of(comm), NcclSettings::of_environment()),
      sends_(static_cast<size_t>(comm.size)),
      receives_(static_cast<size_t>(comm.size)) {}

// Called with the lock held.
ncclResult_t NcclOwnMemory::take(bool& is_there, int64_t bytes) {
  if (is_there || is_released_) return ncclSuccess;
  const auto wanted = static_cast<uint64_t>(bytes);
  if (wanted > 0 && !Machine::get().device(comm_.device).take(wanted)) {
    return nccl_failure(ncclUnhandledCudaError,
                        "Failed to CUDA calloc " + std::to_string(wanted) + " bytes");
  }
  is_there = true;
  bytes_.fetch_add(wanted, std::memory_order_relaxed);
  Taken& all = taken();
  const std::lock_guard lock(all.mutex);
  const auto device = static_cast<size_t>(comm_.device);
  all.now[device] += wanted;
  all.peak[device] = std::max(all.peak[device], all.now[device]);
  return ncclSuccess;
}

ncclResult_t NcclOwnMemory::set_up() {
  const std::lock_guard lock(mutex_);
  if (const ncclResult_t error = take(is_set_up_, sizes_.set_up())) return error;
  if (sizes_.connects_late()) return ncclSuccess;
  if (const ncclResult_t error = take(has_rings_, sizes_.rings())) return error;
  if (const ncclResult_t error = take(has_trees_, sizes_.trees())) return error;
  return take(has_nvls_, sizes_.nvls());
}

ncclResult_t NcclOwnMemory::connect_pair(int peer, bool sends) {
  if (!sizes_.is_beside(peer)) return take(has_network_pool_, sizes_.network_pool());
  bool& is_there = (sends ? sends_ : receives_)[static_cast<size_t>(peer)];
  return take(is_there, sends ? sizes_.send_to(peer) : sizes_.receive_from(peer));
}

ncclResult_t NcclOwnMemory::connect_collective(Traffic kind, uint64_t bytes) {
  if (kind == Traffic::kAllReduce && !sizes_.is_one_host()) {
    if (const ncclResult_t error = take(has_trees_, sizes_.trees())) return error;
  }
  if (kind == Traffic::kAllReduce && sizes_.is_one_host() &&
      sizes_.takes_nvls(static_cast<int64_t>(bytes))) {
    return take(has_nvls_, sizes_.nvls());
  }
  return take(has_rings_, sizes_.rings());
}

ncclResult_t NcclOwnMemory::connect(Traffic kind, int other, uint64_t bytes) {
  if (comm_.size == 1) return ncclSuccess;
  const std::lock_guard lock(mutex_);
  if (kind == Traffic::kSend || kind == Traffic::kRecv) {
    return connect_pair(other, kind == Traffic::kSend);
  }
  if (kind != Traffic::kAllToAll) return connect_collective(kind, bytes);
  for (int peer = 0; peer < comm_.size; ++peer) {
    if (peer == comm_.rank) continue;
    for (const bool sends : {true, false}) {
      if (const ncclResult_t error = connect_pair(peer, sends)) return error;
    }
  }
  return ncclSuccess;
}

void NcclOwnMemory::release() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_released_, true)) return;
  Machine::get().device(comm_.device).give(bytes());
  Taken& all = taken();
  const std::lock_guard taken_lock(all.mutex);
  all.now[static_cast<size_t>(comm_.device)] -= bytes();
}

uint64_t peak_nccl_bytes(int device) {
  Taken& all = taken();
  const std::lock_guard lock(all.mutex);
  return all.peak[static_cast<size_t>(device)];
}

}  // namespace virtual_gpu

extern "C" uint64_t headroom_virtual_nccl_bytes(int device) {
  return device < static_cast<int>(virtual_gpu::Machine::kMostDevices)
             ? virtual_gpu::peak_nccl_bytes(device)
             : 0;
}
