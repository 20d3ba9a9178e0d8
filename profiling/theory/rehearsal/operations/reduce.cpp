#include "profiling/theory/rehearsal/operations/reduce.h"

#include <algorithm>
#include <bit>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// By the names of Reduce.cuh.
constexpr int64_t kMaxThreads = 512;
constexpr int64_t kWarp = 32;
constexpr int64_t kInputVector = 4;
constexpr int64_t kMinValuesPerThread = 16;
constexpr int64_t kMaxValuesPerThread = 256;

int64_t parts(int64_t size, int64_t unit) { return (size + unit - 1) / unit; }

int64_t power_of_two(int64_t size, int64_t most) {
  if (size >= most) return most;
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, size))));
}

// The number of neighbouring results at once: it divides their number.
int64_t output_vector(int64_t outputs) { return outputs % 4 == 0 ? 4 : outputs % 2 == 0 ? 2 : 1; }

struct Block {
  int64_t width, height;
};

Block block_of(int64_t dim0, int64_t dim1, int64_t threads) {
  const int64_t widest = power_of_two(dim0, threads);
  const int64_t narrow = std::min(widest, kWarp);
  const int64_t height = std::min(power_of_two(dim1, threads), threads / narrow);
  return {std::min(widest, threads / height), height};
}

}  // namespace

void meet_in_memory(Run& run, const Reduction& reduction) {
  const int64_t vector = reduction.inner ? 1 : output_vector(reduction.outputs);
  const bool input_vector = reduction.inner && reduction.inputs >= 128;
  const Block block =
      reduction.inner
          ? block_of(input_vector ? reduction.inputs / kInputVector : reduction.inputs,
                     reduction.outputs, kMaxThreads)
          : block_of(reduction.outputs / vector, reduction.inputs, kMaxThreads / vector);
  int64_t step_input = reduction.inner ? block.width : 1;
  const int64_t step_output = reduction.inner ? 1 : block.width;
  const int64_t split_from = std::min(block.height * kMinValuesPerThread, kMaxValuesPerThread);
  if (parts(reduction.inputs, step_input) < split_from) return;  // a warp has its own results
  step_input *= block.height;
  const int64_t values = parts(reduction.inputs, step_input);
  const int64_t grid = parts(reduction.outputs / vector, step_output);
  const int64_t wanted =
      run.multiprocessors * (run.threads_per_multiprocessor / (block.width * block.height));
  if (values < kMaxValuesPerThread || grid > wanted) return;
  const int64_t sharing =
      std::max(std::min(parts(wanted, grid), parts(values, kMinValuesPerThread)),
               parts(values, kMaxValuesPerThread));
  if (sharing <= 1) return;
  const int64_t of_each = reduction.inner ? 1 : block.width * vector;
  const auto buffer = run.allocate(reduction.partial_bytes * reduction.outputs * sharing * of_each);
  const auto semaphores = run.allocate(4 * grid);
}

}  // namespace headroom
