// Data from an absent rank in an exchange: as much as was sent to it in the same group.
//
// Note [Echoes of exchanges]
// Rationale: an all-to-all is a group of sends and receives, and experts on ranks use one to learn
//   the number of rows in the next. A rank that runs alone would receive nothing.
// Approach: the n-th receive from a rank holds, if no journal of that rank has better data, the
//   data of the n-th send to it in the same group, if it has the same size.
// Limits: if both directions of a group are no exchange, like those of two pipeline neighbours,
//   small known values return that the neighbour would not have sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "virtual_gpu/device/memory/contents.h"

namespace virtual_gpu {

// Filled when the send is issued, before or after the receive; empty if not known.
using Echo = std::shared_ptr<Bytes>;

class SimulatedPeers {
 public:
  // `group` is 0 outside of a group: then nothing returns.
  void add_sent(uint64_t group, int to, Bytes bytes);
  // nullptr outside of a group.
  Echo of_receive(uint64_t group, int from);

 private:
  struct Exchanges {
    uint64_t group = 0;
    size_t sent = 0;
    size_t received = 0;
    std::vector<Echo> echoes;
  };
  Exchanges& exchanges_with(int rank, uint64_t group);

  std::mutex mutex_;
  std::map<int, Exchanges> by_rank_;  // of each rank's last group
};

}  // namespace virtual_gpu
