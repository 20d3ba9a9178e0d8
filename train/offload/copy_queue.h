// Copies between the card and the host that run beside the arithmetic.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/offload/host_arena.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// One copy that was asked for.
class Copy {
 public:
  virtual ~Copy() = default;
  // What the calling thread gives its stream from now on runs after it. (On the CPU: waits.)
  virtual void wait() = 0;
  // The calling thread itself may read or write the buffer from now on.
  virtual void wait_on_host() = 0;
};

// Note [Beside the arithmetic]
// Rationale: a copy that the arithmetic waits for costs its whole time; on a stream of its own it
//   costs what the link lacks.
// Approach: one stream for both directions, so that the copies run in the order in which they were
//   asked for: a buffer that is filled again is not filled before it was read. A copy begins when
//   what the asking thread's stream was given before it is done. On the CPU a thread stands in for
//   the stream, with the same order and the same freedom, so that what holds there is no accident
//   of being synchronous.
// Limits: memory of the card must live until its copy was waited for; the caller sees to it (no
//   record_stream(), which makes the time at which memory comes back depend on the card's speed).
class CopyQueue {
 public:
  // What the marking thread's stream had been given.
  class Mark {
   public:
    virtual ~Mark() = default;
  };

  virtual ~CopyQueue() = default;

  // Of a contiguous vector of uint8 as many bytes as the buffer has.
  std::unique_ptr<Copy> out(const torch::Tensor& from, std::shared_ptr<HostArena::Buffer> to) {
    traffic_.to_host += from.numel();
    return copy(std::move(to), from, Direction::kToHost, nullptr);
  }
  // given: begins when that is done, as if it had been asked for then; null: now.
  std::unique_ptr<Copy> in(std::shared_ptr<HostArena::Buffer> from, const torch::Tensor& to,
                           const Mark* given = nullptr) {
    traffic_.to_card += to.numel();
    return copy(std::move(from), to, Direction::kToCard, given);
  }
  // Null where a copy need not wait for anything.
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

// A contiguous tensor as a queue takes it, with a count of changes of its own: a weight that comes
// back is the one that nodes of the graph have saved.
inline torch::Tensor bytes_of(const torch::Tensor& tensor) {
  return tensor.variable_data().view({-1}).view(torch::kUInt8);
}

}  // namespace headroom
