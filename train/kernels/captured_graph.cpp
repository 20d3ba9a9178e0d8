#include "train/kernels/captured_graph.h"

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

void run_on_capture_stream(torch::Device device, const std::function<void()>& work) {
  torch::cuda::synchronize(device.index());
  {
    const c10::StreamGuard guard(capture_stream(device));
    work();
  }
  torch::cuda::synchronize(device.index());
}

CapturedGraph::CapturedGraph(torch::Device device, const std::function<void()>& work)
    : graph_(std::make_unique<at::cuda::CUDAGraph>()) {
  run_on_capture_stream(device, [&] {
    graph_->capture_begin();
    try {
      work();
    } catch (...) {
      end_capture(*graph_);
      throw;
    }
    graph_->capture_end();
  });
}

CapturedGraph::~CapturedGraph() = default;

void CapturedGraph::replay() { graph_->replay(); }

int64_t CapturedGraph::pool_bytes() const {
  int64_t bytes = 0;
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
    if (segment.owner_private_pool_id == graph_->pool()) {
      bytes += static_cast<int64_t>(segment.total_size);
    }
  }
  return bytes;
}

}  // namespace headroom
