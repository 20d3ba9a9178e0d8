// The directory of --save-checkpoint: which checkpoints in it are whole. No torch here.
//
// Note [A whole checkpoint]
// Rationale: many processes write it, and any of them may be killed, or its disk fill, while they
//   do. Nobody may go on from half of it, and the one before it must survive.
// Approach: step-00000010.tmp is written by all; when every rank has synced what it wrote and said
//   so, the first writes the index and renames the directory: what is named step-00000010 is whole.
//   Then, not before, those but the newest two go, renamed first. What a killed run left under a
//   temporary name goes when the next one saves. The directory is locked (flock) against a second
//   run that saves there; and one that begins anew, not with --load-checkpoint of that directory,
//   does not put its checkpoints between those of another.
// Limits: all ranks see one file system. Not every network file system knows locks; there nothing
//   keeps a second run out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"

namespace headroom {

// Steps of the whole checkpoints, ascending.
std::vector<int64_t> steps_of_checkpoints(const std::string& directory);

// The newest whole checkpoint of a directory, or the directory itself where it is one.
// `passed_over` gets a line for each newer one that has no index. Throws UsageError, one line,
// where there is none.
std::string newest_checkpoint(const std::string& directory,
                              std::vector<std::string>* passed_over = nullptr);

std::string checkpoint_of_step(const std::string& directory, int64_t step);
// Of a path that ends in its name.
std::optional<int64_t> step_of_checkpoint(const std::string& checkpoint);

std::string index_of_checkpoint(const std::string& checkpoint);  // the file
// Where the ranks write it until it is whole.
std::string unfinished_checkpoint(const std::string& directory, int64_t step);

// What the first rank does of it. Members throw WriteError, one line.
class CheckpointDirectory {
 public:
  // Makes it where it is missing. goes_on_from: what this run was loaded from; "" = nothing. Throws
  // UsageError where another run's checkpoints are there.
  CheckpointDirectory(const std::string& directory, const std::string& goes_on_from);

  void begin(int64_t step);   // unfinished_checkpoint() is there, and empty
  void finish(int64_t step);  // it is whole now
  void abandon(int64_t step);

 private:
  std::string directory_;
  OwnedFile lock_;
};

}  // namespace headroom
