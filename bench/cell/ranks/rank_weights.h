// Saves the weights of a model on several ranks, in files independent of the mesh.
#pragma once

#include <string>

#include "train/parallel/ranks/device_mesh.h"
#include "train/step.h"

namespace headroom {

// Called by every rank. Without pipeline stages one file; with them a part for each stage and their
// index (train/data/weight_parts.h). Throws WriteError, one line.
void save_weights_of_ranks(const Step& step, const DeviceMesh& device_mesh,
                           const std::string& path);

}  // namespace headroom
