// Goes on from a checkpoint, whatever mesh it was saved on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/parallel/ranks/device_mesh.h"
#include "train/step.h"

namespace headroom {

// Fills a step that has just been built with what --load-checkpoint holds of this rank's part, and
// returns the number of steps that were done. Every rank calls it; grid: null: one rank. `notes`
// gets what differs between the two runs. Throws UsageError, one line.
int64_t load_checkpoint(Step& step, const RunSpec& spec, const DeviceMesh* grid,
                        std::vector<std::string>* notes);

}  // namespace headroom
