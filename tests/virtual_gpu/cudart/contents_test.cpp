// The card's known small values, through the runtime's own functions, and the ones that a launch
// makes unknown. Linked into cudart_test.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "virtual_gpu/cudart/launch/kernel_writes.h"
#include "virtual_gpu/cudart/launch/kernels.h"

namespace {

using virtual_gpu::Parameter;
using virtual_gpu::parameters_of;

class OnCard {
 public:
  explicit OnCard(int64_t value) {
    EXPECT_EQ(cudaMalloc(&address, 512), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnCard() { cudaFree(address); }
  int64_t value() const { return value_at(address); }
  static int64_t value_at(const void* address) {
    int64_t value = -1;
    EXPECT_EQ(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
  void* address = nullptr;
};

cudaError_t launch(void** arguments) {
  return cudaLaunchKernel(nullptr, dim3(1), dim3(32), arguments, 0, nullptr);
}

TEST(KnownContents, WhatTheHostCopiedComesBack) {
  const OnCard five(5);
  EXPECT_EQ(five.value(), 5);
  const OnCard copy(0);
  cudaMemcpy(copy.address, five.address, 8, cudaMemcpyDeviceToDevice);
  EXPECT_EQ(copy.value(), 5);
  cudaMemset(copy.address, 1, 8);
  EXPECT_EQ(copy.value(), 0x0101010101010101);
  EXPECT_EQ(five.value(), 5);
}

TEST(KnownContents, RowsOfACopyAreKnownByThemselves) {
  const std::array<int64_t, 4> rows = {1, 2, 3, 4};
  const OnCard wide(0);
  cudaMemset(wide.address, 0, 512);
  cudaMemcpy2D(wide.address, 64, rows.data(), 16, 8, 2, cudaMemcpyHostToDevice);
  EXPECT_EQ(OnCard::value_at(static_cast<char*>(wide.address) + 64), 3);
  EXPECT_EQ(OnCard::value_at(static_cast<char*>(wide.address) + 8), 0);
}

TEST(KnownContents, FreedMemoryIsUnknown) {
  void* before = nullptr;
  {
    const OnCard five(5);
    before = five.address;
  }
  void* after = nullptr;
  ASSERT_EQ(cudaMalloc(&after, 512), cudaSuccess);
  EXPECT_EQ(after, before) << "the same place: else this tests nothing";
  EXPECT_EQ(OnCard::value_at(after), 0);
  cudaFree(after);
}

TEST(KnownContents, AKernelThatIsGivenItsAddressMakesItUnknown) {
  const OnCard written(5);
  const OnCard other(6);
  void* pointer = written.address;
  void* arguments[] = {&pointer};
  ASSERT_EQ(launch(arguments), cudaSuccess);
  EXPECT_EQ(written.value(), 0);
  EXPECT_EQ(other.value(), 6);
}

TEST(KnownContents, AnAddressInsideAStructureCountsToo) {
  const OnCard written(5);
  struct {
    int64_t before = 0;
    void* address;
  } structure{.address = written.address};
  void* arguments[] = {&structure};
  ASSERT_EQ(launch(arguments), cudaSuccess);
  EXPECT_EQ(written.value(), 0);
}

TEST(KnownContents, ALaunchWithoutArgumentsMayWriteAnything) {
  const OnCard known(5);
  ASSERT_EQ(launch(nullptr), cudaSuccess);
  EXPECT_EQ(known.value(), 0);
}

TEST(KnownContents, ADescribedKernelWritesOnlyWhatItsLettersSay) {
  const OnCard read(5);
  const OnCard written(6);
  const void* first = read.address;
  const void* second = written.address;
  std::array<void*, 2> arguments = {&first, &second};
  static constexpr char kKernel = 0;
  virtual_gpu_kernel_parameters(&kKernel, "rw");
  ASSERT_EQ(cudaLaunchKernel(&kKernel, dim3(1), dim3(32), arguments.data(), 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(read.value(), 5);
  EXPECT_EQ(written.value(), 0);
  virtual_gpu::forget_description(&kKernel);  // its module was unloaded
  cudaLaunchKernel(&kKernel, dim3(1), dim3(32), arguments.data(), 0, nullptr);
  EXPECT_EQ(read.value(), 0);
}

struct Layout {
  const void* pointer;
  std::array<int64_t, 12> strides = {};
};

[[gnu::noinline]] cudaError_t launch_with(const void* kernel, const void* pointer) {
  Layout layout = {.pointer = pointer};
  std::array<void*, 1> arguments = {&layout};
  return cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments.data(), 0, nullptr);
}

TEST(KnownContents, AStructureEndsWithItsStackFrame) {
  static constexpr char kKernel = 0;
  virtual_gpu::register_kernel(&kKernel, nullptr, "_Z5scale6Layout");
  const OnCard written(5);
  const OnCard beside(6);
  const void* volatile of_the_caller = beside.address;
  ASSERT_EQ(launch_with(&kKernel, written.address), cudaSuccess);
  EXPECT_EQ(written.value(), 0);
  EXPECT_EQ(OnCard::value_at(of_the_caller), 6);
}

TEST(KernelParameters, AreReadFromTheName) {
  using enum Parameter;
  EXPECT_EQ(parameters_of("scale(float*, float const*, int)"),
            (std::vector{kPointer, kRead, kNumber}));
  EXPECT_EQ(parameters_of("void at::f<4, std::array<char*, 2ul> >(int, at::Fill<long>, "
                          "std::array<char*, 2ul>)"),
            (std::vector{kNumber, kOther, kOther}));
  EXPECT_EQ(parameters_of("void f<g(int)::{lambda(float, int)#1}>(g(int)::{lambda(float, "
                          "int)#1}, Layout<(int)4, true>*, bool)"),
            (std::vector{kOther, kPointer, kNumber}));
  EXPECT_EQ(parameters_of("empty()"), std::vector<Parameter>{});
  EXPECT_EQ(parameters_of("triton_poi_fused_0"), std::vector<Parameter>{});
}

}  // namespace
