// What of a checkpoint a rank has: the tensors that its optimizer updates and keeps, and where in
// the whole ones they lie.
#pragma once

#include <string>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/device_mesh.h"
#include "train/resume/rectangle.h"
#include "train/spec.h"
#include "train/step.h"

namespace headroom {

struct OwnTensor {
  std::string name;              // in the checkpoint
  std::vector<int64_t> shape;    // of the whole
  std::vector<Rectangle> parts;  // of which this has the elements, one behind the other
  torch::Tensor tensor;          // contiguous; its own shape is anything
  bool is_copy = false;          // of what another rank saves
};

// Masters where there are, else parameters or pieces of them, each followed by its states, where
// there has been an update. grid: null: one rank.
std::vector<OwnTensor> own_tensors(const Step& step, const RunSpec& spec, const DeviceMesh* grid);

// Replicas that have the states between them; further ones have the same again.
int64_t sharing_replicas(const RunSpec& spec);
// Whether this rank has what no other one saves.
bool saves(const RunSpec& spec, const DeviceMesh* grid);

// "F32"
std::string safetensors_dtype(torch::Dtype dtype);

}  // namespace headroom
