// A directory of its own for a run that keeps files: there may be two of it at once. No torch here.
#pragma once

#include <optional>

#include "tests/files/scratch_directory.h"
#include "train/spec.h"

namespace headroom {

class OwnDirectory {
 public:
  // Where the setting is "nvme:." it becomes a directory that is gone with this.
  explicit OwnDirectory(RunSpec& spec) {
    if (spec.optimizer_offload.directory != ".") return;
    folder_.emplace();
    spec.optimizer_offload.directory = folder_->path();
  }

 private:
  std::optional<ScratchDirectory> folder_;
};

}  // namespace headroom
