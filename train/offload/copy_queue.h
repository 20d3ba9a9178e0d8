// Copies between card and host that overlap with computation.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/offload/host_arena.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// One copy in the queue.
class Copy {
 public:
  virtual ~Copy() = default;
  // Later work on the calling thread's stream runs after the copy. (On the CPU: waits.)
  virtual void wait() = 0;
  // Waits until the calling thread itself may read or write the buffer.
  virtual void wait_on_host() = 0;
};

// Note [Beside the arithmetic]
// Rationale: a copy that the computation waits for costs its whole time; on its own stream it costs
//   only the time that the link is too slow.
// Approach: one stream for both directions, so copies run in the order of the requests, and a
//   refilled buffer has been read before. A copy begins after the earlier work of the requesting
//   thread's stream. On the CPU a thread stands in for the stream, with the same order and the same
//   asynchrony, so that CPU runs test both.
// Limits: the caller must keep card memory alive until its copy was waited for (no record_stream():
//   it makes the time at which memory is freed depend on the card's speed).
class CopyQueue {
 public:
  // A point in the marking thread's stream.
  class Mark {
   public:
    virtual ~Mark() = default;
  };

  virtual ~CopyQueue() = default;

  // `from`: a contiguous vector of uint8, of the buffer's size.
  std::unique_ptr<Copy> out(const torch::Tensor& from, std::shared_ptr<HostArena::Buffer> to) {
    traffic_.to_host += from.numel();
    return copy(std::move(to), from, Direction::kToHost, nullptr);
  }
  // given: the copy begins after that mark, as if requested then; null: now.
  std::unique_ptr<Copy> in(std::shared_ptr<HostArena::Buffer> from, const torch::Tensor& to,
                           const Mark* given = nullptr) {
    traffic_.to_card += to.numel();
    return copy(std::move(from), to, Direction::kToCard, given);
  }
  // Null if a copy need not wait for anything.
  virtual std::unique_ptr<Mark> mark() const { return nullptr; }

  HostTraffic traffic() const { return traffic_; }  // so far

 protected:
  enum class Direction { kToHost, kToCard };

 private:
  virtual std::unique_ptr<Copy> copy(std::shared_ptr<HostArena::Buffer> buffer,
                                     const torch::Tensor& vector, Direction direction,
                                     const Mark* given) = 0;

  HostTraffic traffic_;
};

std::unique_ptr<CopyQueue> make_copy_queue(torch::Device device);

// A contiguous tensor as the queue's bytes, with its own version counter: a refetched weight counts
// as the one that graph nodes have saved.
inline torch::Tensor bytes_of(const torch::Tensor& tensor) {
  return tensor.variable_data().view({-1}).view(torch::kUInt8);
}

}  // namespace headroom
