// In which order parts of the model go forward and backward with the micro-batches of a step.
#pragma once

#include <functional>
#include <vector>

#include "train/task.h"

namespace headroom {

class Schedule {
 public:
  using Compute = std::function<void(Task& task)>;

  Schedule() = default;
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // One step. Returns the task whose logits and loss are to live until the step ends.
  virtual Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
                   const Compute& backward) = 0;

  // What CUDA graphs of the last run took of the card.
  virtual int64_t graph_pool_bytes() const { return 0; }
};

// One micro-batch after the other: the whole model forward, then backward where it has a loss.
class SerialSchedule final : public Schedule {
 public:
  explicit SerialSchedule(int64_t blocks) : blocks_(blocks) {}

  Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
           const Compute& backward) override;

 private:
  int64_t blocks_;
};

}  // namespace headroom
