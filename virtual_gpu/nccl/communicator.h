// A communicator of NCCL: who is in it, on which card, and what went over it. docs/distributed.md
// says what is true of it.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace virtual_gpu {

enum class Traffic {
  kAllGather,
  kAllReduce,
  kAllToAll,
  kBroadcast,
  kReduce,
  kReduceScatter,
  kSend,
  kRecv,
};
constexpr size_t kTrafficKinds = 8;
const char* name_of(Traffic kind);

struct TrafficCount {
  std::atomic<uint64_t> calls{0};
  // Of the larger of the call's two buffers.
  std::atomic<uint64_t> bytes{0};
};

struct Peers;         // virtual_gpu/nccl/carried.h
class NcclOwnMemory;  // virtual_gpu/nccl/own_memory.h

}  // namespace virtual_gpu

// NCCL's own tag. Never freed, so that one that was destroyed is known as such.
struct ncclComm {
  std::string identity;  // the same in all its ranks
  std::string name;      // the program's; often ""
  int size = 1;
  int rank = 0;
  int device = 0;
  std::atomic<bool> is_destroyed{false};
  std::atomic<bool> is_finalized{false};
  std::atomic<uint64_t> children{0};  // splits and shrinks so far
  std::array<virtual_gpu::TrafficCount, virtual_gpu::kTrafficKinds> traffic;
  std::shared_ptr<virtual_gpu::Peers> peers;
  std::shared_ptr<virtual_gpu::NcclOwnMemory> own;
};

namespace virtual_gpu {

// Of the current device.
ncclComm* add_communicator(std::string identity, int size, int rank, const ncclConfig_t* config);
// Every one there has been in this process, destroyed ones too.
std::vector<const ncclComm*> communicators();

// Remembers why, for ncclGetLastError() of this thread, and returns the result.
ncclResult_t nccl_failure(ncclResult_t result, std::string why);
const char* nccl_last_error();

// When a wait for the others of a communicator is in vain: it was destroyed, or a signal ends us.
std::function<bool()> until_end_of(const ncclComm* comm);

// ncclInvalidArgument for what is no communicator, or one no more.
ncclResult_t check_communicator(const ncclComm* comm);
// As NCCL looks at a configuration; nullptr is one.
ncclResult_t check_config(const ncclConfig_t* config);
// The virtual cards of this process can be used.
ncclResult_t check_cards();

}  // namespace virtual_gpu
