// What a collective leaves in its buffers, as far as it follows from what is known:
// Note [Ranks tell what they issue].
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "virtual_gpu/nccl/communicator.h"
#include "virtual_gpu/nccl/echoes.h"
#include "virtual_gpu/nccl/journal.h"

namespace virtual_gpu {

// Who else is in a communicator, and how one hears of them.
struct Peers {
  enum class Kind {
    kNone,      // it has one rank
    kTogether,  // they run beside us
    kAbsent,    // they do not, and echo: what they send is what we send, or sent when they ran
    kSilent,    // nobody knows
  };
  Kind kind = Kind::kNone;
  std::unique_ptr<Journal> journal;
  std::vector<std::unique_ptr<JournalReader>> readers;  // by rank
  std::atomic<size_t> collectives{0};                   // issued here so far
  std::mutex mutex;
  std::vector<size_t> received;  // from each rank
  Echoes echoes;                 // of absent ones
  bool has_said_difference = false;
};

// True where ranks run alone (HEADROOM_VIRTUAL_ABSENT=1): nobody is waited for.
bool are_peers_absent();

// Called once for each communicator, when it is made.
void find_peers(ncclComm* comm);
// Waits until all ranks have made theirs, as NCCL does, and looks whether two share a card.
ncclResult_t await_peers(ncclComm* comm);
// Whether what was issued here agrees with what a neighbour did; says so where not.
void compare_with_peers(ncclComm* comm);

struct Exchange {
  Traffic kind;
  const void* from = nullptr;
  void* to = nullptr;
  uint64_t count = 0;  // elements, or of one rank's part
  ncclDataType_t type = ncclInt8;
  int other = 0;  // root, or the peer
  ncclRedOp_t operation = ncclSum;
};
void carry(ncclComm* comm, const Exchange& exchange);

}  // namespace virtual_gpu
