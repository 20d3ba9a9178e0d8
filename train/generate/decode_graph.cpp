#include "train/generate/decode_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <map>

namespace headroom {
namespace {

// One stream for all captures on a device: cuBLAS keeps a workspace for every stream.
c10::Stream capture_stream(torch::Device device) {
  static std::map<c10::DeviceIndex, c10::Stream> streams;
  const auto known = streams.find(device.index());
  if (known != streams.end()) return known->second;
  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  return streams.emplace(device.index(), cuda.getStreamFromGlobalPool(device)).first->second;
}

// Ends a failed capture, so that the stream does not stay in it. Its own error is only a warning.
void end_capture(at::cuda::CUDAGraph& graph) {
  try {
    graph.capture_end();
  } catch (const std::exception& error) {
    TORCH_WARN_ONCE("a capture that failed: ", error.what());
  }
}

}  // namespace

DecodeGraph::DecodeGraph(Transformer model, PassForward forward, KvCache& cache)
    : model_(std::move(model)), forward_(std::move(forward)), cache_(cache) {
  cache_.keep_shapes(true);
}

DecodeGraph::~DecodeGraph() { cache_.keep_shapes(false); }

Tensor DecodeGraph::run(std::vector<SequenceSpan> spans, const Tensor& tokens_B) {
  cache_.begin(spans);
  BatchLayout pass = make_pass(std::move(spans), tokens_B.device(), &cache_);
  if (graph_ == nullptr || tokens_1B_.numel() != tokens_B.numel()) {
    pass_ = std::move(pass);
    tokens_1B_ = tokens_B.unsqueeze(0).clone();
    capture();
  } else {
    pass_.positions_T.copy_(pass.positions_T);
    tokens_1B_.copy_(tokens_B.unsqueeze(0));
  }
  graph_->replay();
  return logits_BV_;
}

// Both runs write the same tokens to the same places.
void DecodeGraph::capture() {
  logits_BV_ = Tensor();
  graph_.reset();
  const PassScope scope(model_, &pass_);
  torch::cuda::synchronize();
  {
    const c10::StreamGuard guard(capture_stream(tokens_1B_.device()));
    forward_(tokens_1B_);
    torch::cuda::synchronize();
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    graph->capture_begin();
    try {
      logits_BV_ = forward_(tokens_1B_).squeeze(0);
    } catch (...) {
      end_capture(*graph);
      throw;
    }
    graph->capture_end();
    graph_ = std::move(graph);
  }
  torch::cuda::synchronize();
}

int64_t DecodeGraph::pool_bytes() const {
  if (graph_ == nullptr) return 0;
  int64_t bytes = 0;
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
    if (segment.owner_private_pool_id == graph_->pool()) {
      bytes += static_cast<int64_t>(segment.total_size);
    }
  }
  return bytes;
}

}  // namespace headroom
