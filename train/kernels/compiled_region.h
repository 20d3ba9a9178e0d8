// A region of the model that torch's compiler has compiled: forward and backward, two libraries.
//
// Note [Compiled regions]
// Rationale: torch.compile's kernels are faster than one ATen operation after another, but its
//   driver is Python, and most of a small step's time on a fast card is the driver's.
// Approach: model/compiled/compile.py traces a region and its gradients, splits them as
//   torch.compile does, and compiles the two parts with AOTInductor. Here they are one node of
//   autograd. Weights are inputs, so every block of one shape runs the same libraries. The node
//   saves its tensors as every other node does, so techniques of saved tensors apply.
// Limits: shapes are fixed. Autocast is inside the libraries, and off around them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"

namespace headroom {

class CompiledRegion {
 public:
  // Loads what compile.py wrote into the folder. Throws std::runtime_error if that cannot be read.
  CompiledRegion(const std::string& folder, torch::Device device);
  ~CompiledRegion();
  CompiledRegion(const CompiledRegion&) = delete;
  CompiledRegion& operator=(const CompiledRegion&) = delete;

  // Names of the inputs: "x", parameters, and what the region needs besides.
  const std::vector<std::string>& inputs() const;

  // Runs the region on inputs in that order. Throws c10::Error if a shape is not the compiled one.
  torch::Tensor run(std::vector<torch::Tensor> inputs) const;

  struct Parts;

 private:
  std::shared_ptr<const Parts> parts_;  // each node in a graph has a share
};

}  // namespace headroom
