#include "train/kernels/compiled_library.h"

#include <ATen/autocast_mode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cuda.h>

#include <cstdlib>
#include <utility>

namespace headroom {

using torch::Tensor;
using Runner = torch::inductor::AOTIModelContainerRunner;

namespace {

int64_t out_of_memories(torch::Device device) {
  return device.is_cuda() ? c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).num_ooms
                          : 0;
}

// Single-threaded: no event is waited for after a run, so that a CUDA graph can capture it.
std::unique_ptr<Runner> load(const std::string& file, torch::Device device) {
  constexpr bool kSingleThreaded = true;
  if (device.is_cuda()) {
    return std::make_unique<torch::inductor::AOTIModelContainerRunnerCuda>(file, 1, device.str(),
                                                                           "", kSingleThreaded);
  }
  return std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(file, 1, kSingleThreaded);
}

// Hides the log of a library that fails: thirty lines for an out-of-memory.
class QuietLog {
 public:
  QuietLog() {
    constexpr int kFatal = 3;
    if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = kFatal;
  }
  ~QuietLog() { FLAGS_caffe2_log_level = before_; }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  const int before_ = FLAGS_caffe2_log_level;
};

}  // namespace

bool is_aligned(const Tensor& tensor) {
  constexpr uintptr_t kBytes = 16;
  return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kBytes == 0;
}

CompiledLibrary::CompiledLibrary(const std::string& file, torch::Device device)
    : device_(device), out_of_memories_(out_of_memories(device)), runner_(load(file, device)) {}

CompiledLibrary::~CompiledLibrary() = default;

// Below autograd and autocast, which the graph of the library contains already. A library turns
// every exception into one text. The allocator's count tells an out-of-memory.
std::vector<Tensor> CompiledLibrary::run(std::vector<Tensor>&& inputs) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  try {
    const QuietLog quiet;
    return runner_->boxed_run(std::move(inputs));
  } catch (const std::exception& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, out_of_memories(device_) == out_of_memories_,
                     "CUDA out of memory in a compiled region");
    TORCH_CHECK(false, "a compiled region failed (TORCH_CPP_LOG_LEVEL=ERROR shows the cause): ",
                error.what());
  }
}

}  // namespace headroom
