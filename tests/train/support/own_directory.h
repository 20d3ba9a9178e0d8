// A separate directory for a run with files, so that two can run at once. No torch here.
#pragma once

#include <optional>

#include "tests/files/scratch_directory.h"
#include "train/settings/spec.h"

namespace headroom {

class OwnDirectory {
 public:
  // Replaces "nvme:." by a directory that is removed with this object.
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
