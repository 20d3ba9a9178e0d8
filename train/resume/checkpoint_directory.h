// The directory of --save-checkpoint, and which of its checkpoints are whole. No torch here.
//
// Note [A whole checkpoint]
// Rationale: many processes write a checkpoint, and any of them may be killed, or its disk fill,
//   meanwhile. No run may resume from half of it, and the previous one must survive.
// Approach: all ranks write to step-00000010.tmp. When every rank has synced its part and reported
//   that, the first rank writes the index and renames the directory: step-00000010 is always whole.
//   Only then all but the newest two are removed, renamed first. A killed run's temporary files are
//   removed when the next run saves. The directory is locked (flock) against a second run that
//   saves there. A fresh run, without --load-checkpoint of that directory, does not mix its
//   checkpoints with another run's.
// Limits: all ranks share one file system. Not every network file system has locks; without them
//   nothing keeps a second run out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"

namespace headroom {

// Steps of the whole checkpoints, ascending.
std::vector<int64_t> steps_of_checkpoints(const std::string& directory);

// The newest whole checkpoint of a directory, or the directory itself if it is one. `passed_over`
// gets a line for each newer one without an index. Throws UsageError, one line, if there is none.
std::string newest_checkpoint(const std::string& directory,
                              std::vector<std::string>* passed_over = nullptr);

std::string checkpoint_of_step(const std::string& directory, int64_t step);
// From a path that ends in a checkpoint's name.
std::optional<int64_t> step_of_checkpoint(const std::string& checkpoint);

std::string index_of_checkpoint(const std::string& checkpoint);  // the file
// The directory that ranks write to until the checkpoint is whole.
std::string unfinished_checkpoint(const std::string& directory, int64_t step);

// The first rank's operations. Members throw WriteError, one line.
class CheckpointDirectory {
 public:
  // Creates the directory if missing. goes_on_from: this run's --load-checkpoint; "" = none. Throws
  // UsageError if another run's checkpoints are there.
  CheckpointDirectory(const std::string& directory, const std::string& goes_on_from);

  void begin(int64_t step);   // makes an empty unfinished_checkpoint()
  void finish(int64_t step);  // the checkpoint is whole
  void abandon(int64_t step);

 private:
  std::string directory_;
  OwnedFile lock_;
};

}  // namespace headroom
