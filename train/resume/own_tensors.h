// A rank's part of a checkpoint: the tensors that its optimizer updates and keeps, and their places
// in the whole tensors.
#pragma once

#include <string>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/device_mesh.h"
#include "train/resume/rectangle.h"
#include "train/settings/spec.h"
#include "train/step.h"

namespace headroom {

struct OwnTensor {
  std::string name;              // in the checkpoint
  std::vector<int64_t> shape;    // of the whole tensor
  std::vector<Rectangle> parts;  // their elements, concatenated, are the tensor
  torch::Tensor tensor;          // contiguous, of any shape
  bool is_copy = false;          // another rank saves it
};

// Masters, or else parameters or pieces of them; each is followed by its states, if there was an
// update. device_mesh: null: one rank.
std::vector<OwnTensor> own_tensors(const Step& step, const RunSpec& spec,
                                   const DeviceMesh* device_mesh);

// Replicas that share the states; further ones are copies.
int64_t sharing_replicas(const RunSpec& spec);
// True if this rank has data that no other rank saves.
bool saves(const RunSpec& spec, const DeviceMesh* device_mesh);

// "F32"
std::string safetensors_dtype(torch::Dtype dtype);

}  // namespace headroom
