#include "train/kernels/step_graph.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <utility>

namespace headroom {

using torch::Tensor;

Tensor StepGraph::run_operations() {
  return step_.run(split(batch_, step_.micro_batches, step_.loss, step_.loss_of));
}

Tensor StepGraph::run(const Batch& batch) {
  if (!batch_.tokens_BS.defined()) {
    batch_ = {.tokens_BS = batch.tokens_BS.clone(), .targets_BS = batch.targets_BS.clone()};
    run_on_capture_stream(step_.device(), [&] { loss_ = run_operations(); });
    return std::exchange(loss_, Tensor());
  }
  batch_.tokens_BS.copy_(batch.tokens_BS);
  batch_.targets_BS.copy_(batch.targets_BS);
  if (!graph_) {
    // The captured step makes its own gradients, in the pool, which shares no cached memory.
    step_.free_gradients();
    c10::cuda::CUDACachingAllocator::emptyCache();
    graph_ = std::make_unique<CapturedGraph>(step_.device(), [&] { loss_ = run_operations(); });
  }
  const StepScope phase(step_.scopes(), {ScopeKind::kPhase, "graph"});
  graph_->replay();
  return loss_;
}

void apply_step_graph(const BuildRequest& request, Step& step) {
  if (request.spec.step_graph) step.graph = std::make_shared<StepGraph>(step);
}

}  // namespace headroom
