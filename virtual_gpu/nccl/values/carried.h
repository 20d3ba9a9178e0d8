// The result of a collective in its buffers, as far as known values determine it: Note [Ranks tell
// what they issue].
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "virtual_gpu/nccl/communicator.h"
#include "virtual_gpu/nccl/values/journal.h"
#include "virtual_gpu/nccl/values/simulated_peers.h"

namespace virtual_gpu {

// The other ranks of a communicator, and the source of their data.
struct Peers {
  enum class Kind {
    kNone,      // only one rank
    kTogether,  // the others run beside us
    kAbsent,  // they do not run; they echo: they send what we send, or what they sent when they ran
    kSilent,  // unknown
  };
  Kind kind = Kind::kNone;
  std::unique_ptr<Journal> journal;
  std::vector<std::unique_ptr<JournalReader>> readers;  // by rank
  std::atomic<size_t> collectives{0};                   // issued here so far
  std::mutex mutex;
  std::vector<size_t> received;  // from each rank
  SimulatedPeers simulated;      // of absent ranks
  bool has_said_difference = false;
};

// True if ranks run alone (HEADROOM_VIRTUAL_ABSENT=1): no rank is waited for.
bool are_peers_absent();

// Called once per communicator, when it is made.
void find_peers(ncclComm* comm);
// Waits until all ranks have made theirs, like NCCL, and checks that no two share a card.
ncclResult_t await_peers(ncclComm* comm);
// Compares the collectives issued here with a neighbour's; prints a line if they differ.
void compare_with_peers(ncclComm* comm);

struct Exchange {
  Traffic kind;
  const void* from = nullptr;
  void* to = nullptr;
  uint64_t count = 0;  // elements, or those of one rank's part
  ncclDataType_t type = ncclInt8;
  int other = 0;  // root, or the peer
  ncclRedOp_t operation = ncclSum;
};
void carry(ncclComm* comm, const Exchange& exchange);

}  // namespace virtual_gpu
