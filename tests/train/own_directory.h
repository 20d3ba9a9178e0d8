// A directory of its own for a run that keeps files: there may be two of it at once. No torch here.
#pragma once

#include <optional>

#include "tests/files/scratch_directory.h"
#include "train/settings/spec.h"

namespace headroom {

class OwnDirectory {
 public:
  // Where the setting is "nvme:." it becomes a directory that is gone with this.
  explicit OwnDirectory(RunSpec& spec) {
    for (Offload* const offload : {&spec.optimizer_offload, &spec.param_offload}) {
      if (offload->directory != ".") continue;
      if (!folder_) folder_.emplace();
      offload->directory = folder_->path();
    }
  }

 private:
  std::optional<ScratchDirectory> folder_;
};

}  // namespace headroom
