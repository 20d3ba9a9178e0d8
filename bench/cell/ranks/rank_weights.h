// The weights of a model that is spread over ranks, as files that say nothing of the mesh.
#pragma once

#include <string>

#include "train/parallel/ranks/device_mesh.h"
#include "train/step.h"

namespace headroom {

// Every rank calls it. Without pipeline stages one file; with them a part of each stage and their
// index (train/data/weight_parts.h). Throws WriteError, one line.
void save_weights_of_ranks(const Step& step, const DeviceMesh& grid, const std::string& path);

}  // namespace headroom
