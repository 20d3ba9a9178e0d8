// The stand-in's own overhead: the most frequent calls of a step, without libtorch.
//   headroom dryrun --card h200 -- build/release/tests/virtual_gpu_benchmark
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <vector>

namespace {

void launch(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(cudaLaunchKernel(nullptr, dim3(128), dim3(256), nullptr, 0, nullptr));
  }
}
BENCHMARK(launch);

// Launches while values of many blocks are known, so that arguments are searched.
void launch_beside_known_contents(benchmark::State& state) {
  std::vector<void*> known(static_cast<size_t>(state.range(0)));
  const int64_t value = 5;
  for (void*& pointer : known) {
    cudaMalloc(&pointer, 512);
    cudaMemcpy(pointer, &value, sizeof value, cudaMemcpyHostToDevice);
  }
  void* written[4];
  for (void*& pointer : written) cudaMalloc(&pointer, 4096);
  struct {
    int64_t sizes[64];
    void* pointers[2];
  } structure{.sizes = {}, .pointers = {written[2], written[3]}};
  void* arguments[] = {&written[0], &written[1], &structure};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        cudaLaunchKernel(nullptr, dim3(128), dim3(256), arguments, 0, nullptr));
  }
  for (void* pointer : known) cudaFree(pointer);
  for (void* pointer : written) cudaFree(pointer);
}
BENCHMARK(launch_beside_known_contents)->Arg(1)->Arg(1000);

void malloc_and_free(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* pointer = nullptr;
    benchmark::DoNotOptimize(cudaMalloc(&pointer, bytes));
    cudaFree(pointer);
  }
}
BENCHMARK(malloc_and_free)->Arg(1 << 9)->Arg(2 << 20)->Arg(100 << 20);

// With many live blocks, as without a caching allocator.
void malloc_and_free_among_many(benchmark::State& state) {
  std::vector<void*> live(static_cast<size_t>(state.range(0)));
  for (void*& pointer : live) cudaMalloc(&pointer, 2 << 20);
  size_t next = 0;
  for (auto _ : state) {
    cudaFree(live[next]);
    benchmark::DoNotOptimize(cudaMalloc(&live[next], 2 << 20));
    next = (next + 7919) % live.size();
  }
  for (void* pointer : live) cudaFree(pointer);
}
BENCHMARK(malloc_and_free_among_many)->Arg(1000)->Arg(30000);

void event_record_and_query(benchmark::State& state) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  for (auto _ : state) {
    cudaEventRecord(event, nullptr);
    benchmark::DoNotOptimize(cudaEventQuery(event));
  }
  cudaEventDestroy(event);
}
BENCHMARK(event_record_and_query);

void get_and_set_device(benchmark::State& state) {
  for (auto _ : state) {
    int device = 0;
    cudaGetDevice(&device);
    benchmark::DoNotOptimize(cudaSetDevice(device));
  }
}
BENCHMARK(get_and_set_device);

}  // namespace

BENCHMARK_MAIN();
