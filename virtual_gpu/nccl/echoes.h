// What an absent rank would have sent, in an exchange: as much as was sent to it in the same group.
//
// Note [Echoes of exchanges]
// Rationale: an all-to-all is a group of sends and receives, and experts on ranks learn from one
//   how many rows the next one has. A rank that runs alone would receive nothing.
// Approach: the n-th receive from a rank holds, where no journal of that rank says better, what the
//   n-th send to it in the same group held, if it has the same size.
// Limits: where both ways of a group are no exchange, two neighbours of a pipeline say, small known
//   values come back that the neighbour would not have sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "virtual_gpu/device/contents.h"

namespace virtual_gpu {

// Filled when the send is issued, before or after the receive; empty where it is not known.
using Echo = std::shared_ptr<Bytes>;

class Echoes {
 public:
  // `group` is 0 outside of one: then nothing comes back.
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
  std::map<int, Exchanges> by_rank_;  // of its last group
};

}  // namespace virtual_gpu
