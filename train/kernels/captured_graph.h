// Work on a card, captured once as a CUDA graph and launched as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "model/torch.h"

namespace at::cuda {
struct CUDAGraph;
}

namespace headroom {

// Runs `work` on the one stream that this device's captures use, and waits for it before and
// after. Work that is to be captured runs so once before, because libraries allocate their lasting
// memory for a stream at its first use.
void run_on_capture_stream(torch::Device device, const std::function<void()>& work);

class CapturedGraph {
 public:
  // Captures `work` into a private pool of the allocator; its kernels do not run. Throws
  // c10::Error if it does what no capture allows, such as waiting for the device.
  CapturedGraph(torch::Device device, const std::function<void()>& work);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  // Runs the captured kernels on the current stream.
  void replay();

  // Card memory of the private pool. It is the graph's as long as the graph lives.
  int64_t pool_bytes() const;

 private:
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace headroom
