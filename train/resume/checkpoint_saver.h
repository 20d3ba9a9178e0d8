// Saves a run's checkpoints, each rank its part. Note [A whole checkpoint], Note [Pieces of
// tensors].
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "train/parallel/ranks/device_mesh.h"
#include "train/resume/checkpoint_directory.h"
#include "train/step.h"

namespace headroom {

class CheckpointSaver {
 public:
  // Checks --save-checkpoint at once: an unusable directory fails before the first step.
  // device_mesh: null: one rank. Throws WriteError, UsageError, one line.
  CheckpointSaver(const RunSpec& spec, const DeviceMesh* device_mesh);

  // True if --save-every asks for one after this many steps, counted from the first run on.
  bool is_due(int64_t step) const { return spec_.save_every > 0 && step % spec_.save_every == 0; }
  int64_t last() const { return last_; }  // step of the last save; -1: none
  // Every rank must call this. If a part cannot be written, its rank throws WriteError, one line,
  // the others std::runtime_error, and nothing remains.
  void save(const Step& step, int64_t steps);

 private:
  void together(int64_t step, const std::function<void()>& work);
  int64_t writer() const;
  void write_part(const Step& step, int64_t steps) const;
  void write_index_of(const Step& step, int64_t steps) const;

  const RunSpec spec_;
  const DeviceMesh* device_mesh_;
  std::unique_ptr<CheckpointDirectory> directory_;  // on the first rank
  int64_t last_ = -1;
};

}  // namespace headroom
