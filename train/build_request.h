// Inputs for building a step: the argument of every apply_*() that train/build.cpp lists.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/torch.h"
#include "train/offload/copy_queue.h"
#include "train/parallel/ranks/device_mesh.h"
#include "train/parallel/ranks/world.h"
#include "train/settings/spec.h"

namespace headroom {

struct BuildRequest {
  const RunSpec& spec;
  const ModelConfig& config;  // of the whole model
  torch::Device device;
  const DeviceMesh* device_mesh = nullptr;  // null: one rank
  std::vector<std::string>* notes;          // for the reader of the result
  std::shared_ptr<CopyQueue> copies = {};   // the host link's queue; null: nothing is offloaded
  std::shared_ptr<const World> world = {};  // all ranks; null: a single rank

  uint64_t seed() const { return static_cast<uint64_t>(spec.seed); }
  // Number of ranks along an axis.
  int64_t size(MeshAxis axis) const { return device_mesh == nullptr ? 1 : device_mesh->size(axis); }
  // Adds each note once: states and weights may use one directory.
  void note(const std::vector<std::string>& more) const {
    for (const std::string& one : more) {
      if (std::find(notes->begin(), notes->end(), one) == notes->end()) notes->push_back(one);
    }
  }
};

}  // namespace headroom
