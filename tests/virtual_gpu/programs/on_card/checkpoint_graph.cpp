// Checkpointed steps, captured as CUDA graphs and replayed: a recomputation does not wait for the
// card, read from it, or set its generator. Run on a virtual card, which refuses calls forbidden in
// a capture. Prints one line per setting; ends at the first failure.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdio>

#include "tests/train/support/tiny_spec.h"
#include "tests/virtual_gpu/programs/on_card/on_card.h"
#include "train/build.h"
#include "train/data/data.h"
#include "train/techniques/checkpoint/checkpoint.h"

namespace headroom {
namespace {

// Runs a body before a capture, as required, and captures it, on a stream that may be captured.
template <typename Body>
void capture_and_replay(const Body& body) {
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  for (int i = 0; i < 2; ++i) body();  // libraries make their handles
  c10::cuda::device_synchronize();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  body();
  graph.capture_end();
  graph.replay();
  c10::cuda::device_synchronize();
}

void capture_a_step(RunSpec spec) {
  const torch::Device card(torch::kCUDA, 0);
  std::vector<std::string> notes;
  const auto step = build_step(spec, card, &notes);
  const Batch batch = Data(spec, spec.vocab_size, card, 1).batch(0);
  capture_and_replay([&] { step->run(batch); });
  std::printf("%s: captured\n", row_name(spec).c_str());
}

// Inside a capture the generator cannot be reset for a function that draws, which is an error.
void refuse_random_numbers() {
  const torch::Tensor x = torch::zeros({64, 64}, torch::device(torch::kCUDA)).requires_grad_(true);
  const TensorFunction draws = [](const std::vector<torch::Tensor>& inputs) {
    return (inputs.front() * torch::rand_like(inputs.front())).square();
  };
  try {
    capture_and_replay([&] { checkpointed(draws, {x}).sum().backward(); });
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    TORCH_CHECK(message.find("inside a captured CUDA graph") != std::string::npos, message);
    std::printf("random numbers: refused\n");
    return;
  }
  TORCH_CHECK(false, "random numbers were drawn again inside a capture");
}

}  // namespace

int capture_checkpointed_steps() {
  RunSpec spec = tiny_spec();
  spec.device = parse_device("cuda");
  spec.profile_type = Mode::kForwardBackward;
  for (const char* checkpoint : {"none", "full", "every:2", "blocks:50%", "selective"}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp8}) {
        spec.checkpoint = parse_checkpoint("--recompute", checkpoint);
        spec.attention = attention;
        spec.precision = precision;
        capture_a_step(spec);
      }
    }
  }
  refuse_random_numbers();
  return 0;
}

}  // namespace headroom
