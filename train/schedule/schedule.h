// The order of forwards and backwards of model parts and micro-batches in a step.
#pragma once

#include <functional>
#include <vector>

#include "train/schedule/task.h"

namespace headroom {

class Schedule {
 public:
  using Compute = std::function<void(Task& task)>;

  Schedule() = default;
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Runs one step. Returns the task whose logits and loss must live until the step ends.
  virtual Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
                   const Compute& backward) = 0;

  // Device memory of the last run's CUDA graphs.
  virtual int64_t graph_pool_bytes() const { return 0; }
};

// One micro-batch after another: the whole model forward, then backward if there is a loss.
class SerialSchedule final : public Schedule {
 public:
  explicit SerialSchedule(int64_t blocks) : blocks_(blocks) {}

  Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
           const Compute& backward) override;

 private:
  int64_t blocks_;
};

}  // namespace headroom
