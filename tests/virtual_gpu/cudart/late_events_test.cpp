// The host's waits with late events (HEADROOM_VIRTUAL_EVENTS=late), which are done when it waits:
// copies, frees, the device, and the order of the default stream.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace {

constexpr size_t kBytes = 4096;

class LateEvents : public testing::Test {
 protected:
  LateEvents() {
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaEventCreate(&event_);
    cudaMalloc(&block_, kBytes);
    cudaMallocHost(&pinned_, kBytes);
  }
  ~LateEvents() override {
    cudaDeviceSynchronize();
    cudaFree(block_);
    cudaFreeHost(pinned_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(side_);
  }
  // Work on the side stream, followed by the event.
  void record_work() {
    ASSERT_EQ(cudaMemsetAsync(block_, 0, kBytes, side_), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event_, side_), cudaSuccess);
    ASSERT_EQ(state(), cudaErrorNotReady);
  }
  cudaError_t state() {
    const cudaError_t answer = cudaEventQuery(event_);
    cudaGetLastError();
    return answer;
  }
  cudaError_t copy_out(void* to) {
    return cudaMemcpyAsync(to, block_, kBytes, cudaMemcpyDeviceToHost, side_);
  }

  cudaStream_t side_ = nullptr;
  cudaEvent_t event_ = nullptr;
  void* block_ = nullptr;
  void* pinned_ = nullptr;
  std::array<char, kBytes> pageable_{};
};

TEST_F(LateEvents, AWaitForTheStreamTheEventOrTheDeviceCompletesIt) {
  record_work();
  ASSERT_EQ(cudaStreamQuery(side_), cudaErrorNotReady);
  ASSERT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
  record_work();
  ASSERT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
  record_work();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
}

TEST_F(LateEvents, ACopyIntoPagesOfTheHostIsWaitedForAndOneIntoPinnedMemoryIsNot) {
  record_work();
  ASSERT_EQ(copy_out(pinned_), cudaSuccess);
  EXPECT_EQ(state(), cudaErrorNotReady);
  ASSERT_EQ(copy_out(pageable_.data()), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
}

TEST_F(LateEvents, ACopyThatBlocksWaitsForTheDefaultStreamAlone) {
  record_work();
  ASSERT_EQ(cudaMemcpy(pageable_.data(), block_, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(state(), cudaErrorNotReady) << "the side stream has no order with it";
  ASSERT_EQ(cudaStreamWaitEvent(nullptr, event_, 0), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(block_, block_, kBytes, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(state(), cudaErrorNotReady) << "on the card nobody waits";
  ASSERT_EQ(cudaMemcpy(pageable_.data(), block_, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
}

TEST_F(LateEvents, GivingMemoryBackWaitsForTheDevice) {
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, kBytes), cudaSuccess);
  record_work();
  ASSERT_EQ(cudaFree(other), cudaSuccess);
  EXPECT_EQ(state(), cudaSuccess);
}

TEST_F(LateEvents, TimeBetweenEventsIsNotReadyBeforeThey) {
  cudaEvent_t begin = nullptr;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(begin, side_), cudaSuccess);
  record_work();
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, event_), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, event_), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  cudaEventDestroy(begin);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("HEADROOM_VIRTUAL_CARD",
         "name=Test Card;compute_capability=9.0;multiprocessors=4;total_bytes=1073741824;"
         "context_bytes=16777216;shared_memory_per_block_optin=232448",
         1);
  setenv("HEADROOM_VIRTUAL_COUNT", "1", 1);
  setenv("HEADROOM_VIRTUAL_EVENTS", "late", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
