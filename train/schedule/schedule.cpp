#include "train/schedule/schedule.h"

namespace headroom {

Task SerialSchedule::run(const std::vector<MicroBatch>& parts, const Compute& forward,
                         const Compute& backward) {
  Task task;
  for (const MicroBatch& part : parts) {
    task.release();  // frees the previous micro-batch
    task.data = &part;
    task.blocks = {0, blocks_};
    task.drops_output = part.output != MicroBatch::Output::kLogits;
    task.ends_step = &part == &parts.back();
    forward(task);
    if (part.loss) backward(task);
  }
  return task;
}

}  // namespace headroom
