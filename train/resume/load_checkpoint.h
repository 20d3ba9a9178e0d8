// Resumes from a checkpoint, saved on any mesh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/parallel/ranks/device_mesh.h"
#include "train/step.h"

namespace headroom {

// Fills a new step with this rank's part of --load-checkpoint and returns the number of steps done.
// Every rank must call this; device_mesh: null: one rank. `notes` gets the differences between the
// two runs. Throws UsageError, one line.
int64_t load_checkpoint(Step& step, const RunSpec& spec, const DeviceMesh* device_mesh,
                        std::vector<std::string>* notes);

}  // namespace headroom
