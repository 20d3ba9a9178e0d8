// Card memory taken by this process's communicators: Note [NCCL's own memory].
#pragma once

#include <deque>
#include <mutex>

#include "virtual_gpu/nccl/communicator.h"
#include "virtual_gpu/nccl/memory/own_bytes.h"

namespace virtual_gpu {

// Memory of one communicator, on its card.
class NcclOwnMemory {
 public:
  explicit NcclOwnMemory(ncclComm& comm);

  // Each takes memory that is not there yet; ncclUnhandledCudaError if the card is full.
  ncclResult_t set_up();
  ncclResult_t connect(Traffic kind, int other, uint64_t bytes);
  void release();

  // The most it has had.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  ncclResult_t take(bool& is_there, int64_t bytes);
  ncclResult_t connect_pair(int peer, bool sends);
  ncclResult_t connect_collective(Traffic kind, uint64_t bytes);

  ncclComm& comm_;
  const NcclOwnBytes sizes_;
  std::mutex mutex_;
  std::atomic<uint64_t> bytes_{0};
  bool is_released_ = false;
  bool is_set_up_ = false;
  bool has_rings_ = false;
  bool has_trees_ = false;
  bool has_nvls_ = false;
  bool has_network_pool_ = false;
  std::deque<bool> sends_, receives_;  // by peer
};

// Peak over time of all communicators' bytes on a card.
uint64_t peak_nccl_bytes(int device);

}  // namespace virtual_gpu

// The same, for programs that look it up by name on a virtual card.
extern "C" uint64_t headroom_virtual_nccl_bytes(int device);
