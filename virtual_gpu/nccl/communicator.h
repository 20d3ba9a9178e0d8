// A communicator of NCCL: its ranks, their cards, its traffic. docs/programs/distributed.md
// describes how faithful it is.
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
  // Bytes of the larger of the call's two buffers.
  std::atomic<uint64_t> bytes{0};
};

struct Peers;         // virtual_gpu/nccl/values/carried.h
class NcclOwnMemory;  // virtual_gpu/nccl/memory/own_memory.h

}  // namespace virtual_gpu

// NCCL's own tag. Never freed, so that a destroyed one is recognized.
struct ncclComm {
  std::string identity;  // the same in all ranks
  std::string name;      // set by the program; often ""
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

// On the current device.
ncclComm* add_communicator(std::string identity, int size, int rank, const ncclConfig_t* config);
// All communicators of this process, destroyed ones too.
std::vector<const ncclComm*> communicators();

// Stores the reason for ncclGetLastError() of this thread, and returns the result.
ncclResult_t nccl_failure(ncclResult_t result, std::string why);
const char* nccl_last_error();

// True once waiting for other ranks is useless: comm was destroyed, or a signal ends the process.
std::function<bool()> until_end_of(const ncclComm* comm);

// ncclInvalidArgument unless it is a live communicator.
ncclResult_t check_communicator(const ncclComm* comm);
// Checks a configuration like NCCL; nullptr is valid.
ncclResult_t check_config(const ncclConfig_t* config);
// Succeeds if the process can use its virtual cards.
ncclResult_t check_cards();

}  // namespace virtual_gpu
