// A whole step as one CUDA graph: --step-graph.
//
// Note [A step as one graph]
// Rationale: a step of a small model launches hundreds of kernels, and on a fast card each launch
//   costs more than its kernel.
// Approach: the first step runs operation by operation on the stream of captures; it creates the
//   optimizer's states and the libraries' lasting memory. The second is captured: forward,
//   backward and update. From then on a step copies its batch into the captured tensors and
//   launches the graph. Activations, gradients and temporaries are in the graph's private pool,
//   which the allocator keeps; only gradients and the loss count as allocated after the capture.
// Limits: a captured kernel's numbers are fixed, so the update takes the learning rate and the
//   count of updates from tensors (Adamw::Form), and the host does not count updates. A step that
//   waits for the device, or decides on the host, is refused (check_step_graph).
#pragma once

#include <memory>

#include "train/build_request.h"
#include "train/data/data.h"
#include "train/kernels/captured_graph.h"
#include "train/step.h"

namespace headroom {

class StepGraph {
 public:
  explicit StepGraph(Step& step) : step_(step) {}

  // Runs one step and returns the loss; the next step overwrites it. Batches of one shape.
  torch::Tensor run(const Batch& batch);

  // Card memory of the graph's private pool; 0 before the second step.
  int64_t pool_bytes() const { return graph_ ? graph_->pool_bytes() : 0; }

 private:
  torch::Tensor run_operations();

  Step& step_;
  Batch batch_;  // the captured step's own
  std::unique_ptr<CapturedGraph> graph_;
  torch::Tensor loss_;
};

void apply_step_graph(const BuildRequest& request, Step& step);

}  // namespace headroom
