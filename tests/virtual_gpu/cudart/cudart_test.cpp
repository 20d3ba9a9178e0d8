// The stand-in's own functions, called as a program calls CUDA: error codes, memory accounting,
// copies, graphs. Linked against the library that is otherwise preloaded.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t free_bytes() {
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

cudaPointerAttributes attributes_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
  return attributes;
}

TEST(Cudart, TheCardIsTheOneDescribed) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_STREQ(properties.name, "Test Card");
  EXPECT_EQ(properties.major * 10 + properties.minor, 90);
  EXPECT_EQ(properties.totalGlobalMem, 1024 * kMiB);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "reading it clears it";
}

// The bytes of CUDA 12's cudaDeviceProp, by the offsets in its header.
extern "C" cudaError_t cudaGetDeviceProperties_v2(void* properties, int device);

TEST(Cudart, AProgramOfCuda12HasThePropertiesWhereItsHeaderHasThem) {
  std::array<char, 1032 + 8> bytes{};
  bytes.fill(7);
  ASSERT_EQ(cudaGetDeviceProperties_v2(bytes.data(), 1), cudaSuccess);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  const auto at = [&](size_t offset) {
    int value = 0;
    std::memcpy(&value, &bytes[offset], sizeof value);
    return value;
  };
  EXPECT_STREQ(bytes.data(), "Test Card");
  EXPECT_EQ(at(360) * 10 + at(364), 90) << "compute capability";
  EXPECT_EQ(at(388), properties.multiProcessorCount);
  EXPECT_EQ(at(408), properties.maxTexture1D);
  EXPECT_EQ(at(420), properties.maxTexture2D[0]);
  EXPECT_EQ(at(616), properties.l2CacheSize);
  EXPECT_EQ(at(696), static_cast<int>(properties.sharedMemPerBlockOptin));
  EXPECT_EQ(at(772), properties.clusterLaunch);
  EXPECT_EQ(bytes[1031], 0);
  EXPECT_EQ(bytes[1032], 7) << "nothing is written behind the structure";
}

int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, attribute, 0), cudaSuccess);
  return value;
}

// The numbers of an H100, driver 580.159.04.
TEST(Cudart, LimitsOfTexturesAreTheSameAsAttributesAndAsProperties) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.maxTexture2DLinear[2], 2097120);
  EXPECT_EQ(device_attribute(cudaDevAttrMaxTexture2DLinearPitch), 2097120);
  EXPECT_EQ(properties.maxTexture3DAlt[2], 32768);
  EXPECT_EQ(device_attribute(cudaDevAttrMaxTexture3DDepthAlt), 32768);
  EXPECT_EQ(properties.maxSurfaceCubemapLayered[1], 2046);
  EXPECT_EQ(device_attribute(cudaDevAttrMaxSurfaceCubemapLayeredLayers), 2046);
  EXPECT_EQ(properties.deviceNumaId, -1);
  EXPECT_EQ(properties.accessPolicyMaxWindowSize, 134217728);
}

TEST(Cudart, AnAttributeThatDoesNotExistIsRefused) {
  int value = 0;
  for (const int wrong : {0, -1, static_cast<int>(cudaDevAttrMax)}) {
    EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(wrong), 0),
              cudaErrorInvalidValue);
  }
  cudaGetLastError();
}

TEST(Cudart, MemoryIsCountedAndWrongFreesAreErrors) {
  const size_t before = free_bytes();
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 100 * kMiB), cudaSuccess);
  EXPECT_EQ(before - free_bytes(), 100 * kMiB);
  EXPECT_EQ(attributes_of(pointer).type, cudaMemoryTypeDevice);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 200 * 1024 * kMiB), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(static_cast<char*>(pointer) + 4096), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue) << "twice";
  int on_the_stack = 0;
  EXPECT_EQ(cudaFree(&on_the_stack), cudaErrorInvalidValue) << "not ours";
  EXPECT_EQ(free_bytes(), before);
  cudaGetLastError();
}

TEST(Cudart, WhatComesBackFromTheCardUnknownIsZero) {
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 4096), cudaSuccess);
  std::array<int, 1024> values;
  values.fill(7);
  EXPECT_EQ(cudaMemcpy(device, values.data(), 4096, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(values[5], 7) << "the source stays";
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(values.data(), device, 4096, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(values, (std::array<int, 1024>{}));
  std::array<int, 1024> other{};
  values.fill(3);
  EXPECT_EQ(cudaMemcpy(other.data(), values.data(), 4096, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(other, values) << "host to host is a real copy";
  cudaFree(device);
}

TEST(Cudart, PinnedAndManagedMemoryIsReal) {
  void* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 8 * kMiB, 0), cudaSuccess);
  static_cast<char*>(pinned)[8 * kMiB - 1] = 1;
  EXPECT_EQ(attributes_of(pinned).type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);

  const size_t before = free_bytes();
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 16 * kMiB, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_EQ(before - free_bytes(), 16 * kMiB) << "it is on the card's books";
  static_cast<char*>(managed)[1] = 42;
  char read = 0;
  EXPECT_EQ(cudaMemcpy(&read, static_cast<char*>(managed) + 1, 1, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(read, 42);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  void* beyond = nullptr;
  EXPECT_EQ(cudaMallocManaged(&beyond, 4096 * kMiB, cudaMemAttachGlobal), cudaSuccess)
      << "managed memory may exceed the card";
  EXPECT_EQ(cudaFree(beyond), cudaSuccess);
  EXPECT_EQ(free_bytes(), before);

  std::array<char, 64> ordinary{};
  EXPECT_EQ(attributes_of(ordinary.data()).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostRegister(ordinary.data(), 64, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(ordinary.data(), 64, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(attributes_of(ordinary.data()).type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostUnregister(ordinary.data()), cudaSuccess);
  cudaGetLastError();
}

// Bytes of resident memory of this process.
size_t resident_bytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

bool is_zero(const char* memory, size_t bytes) {
  return *memory == 0 && std::memcmp(memory, memory + 1, bytes - 1) == 0;
}

TEST(Cudart, PinnedMemoryThatACardWritesTakesNoRealMemory) {
  constexpr size_t kBytes = 4096 * kMiB;
  constexpr size_t kCopy = 512 * kMiB;
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, kCopy), cudaSuccess);
  void* host = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, kBytes), cudaSuccess);
  auto* bytes = static_cast<char*>(host);
  const size_t before = resident_bytes();
  std::memset(bytes + kMiB, 1, 64 * kMiB);  // the host's own memory
  EXPECT_GE(resident_bytes() - before, 64 * kMiB);
  for (size_t at = 0; at < kBytes; at += kCopy) {
    ASSERT_EQ(cudaMemcpyAsync(bytes + at, device, kCopy, cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
  }
  EXPECT_LT(resident_bytes(), before + 16 * kMiB);
  EXPECT_TRUE(is_zero(bytes, 128 * kMiB));
  EXPECT_TRUE(is_zero(bytes + kBytes - kMiB, kMiB));
  EXPECT_LT(resident_bytes(), before + 16 * kMiB) << "reading takes none either";
  std::memset(bytes, 1, 64 * kMiB);
  EXPECT_EQ(cudaMemset(bytes, 0, kBytes), cudaSuccess);
  EXPECT_LT(resident_bytes(), before + 16 * kMiB);
  EXPECT_TRUE(is_zero(bytes, 128 * kMiB));
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Cudart, PagesThatAreZeroAlreadyStayUntouched) {
  constexpr size_t kBytes = 256 * kMiB;
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, kBytes), cudaSuccess);
  auto* pageable = static_cast<char*>(std::calloc(kBytes, 1));
  ASSERT_NE(pageable, nullptr);
  const size_t before = resident_bytes();
  std::memset(pageable + 5 * kMiB + 7, 1, kMiB);
  ASSERT_EQ(cudaMemcpy(pageable + 1, device, kBytes - 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_TRUE(is_zero(pageable, kBytes));
  EXPECT_LT(resident_bytes(), before + 16 * kMiB);
  std::free(pageable);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Cudart, RowsOfACopyToTheHostKeepWhatIsBetweenThem) {
  constexpr size_t kPitch = 256 * 1024;
  constexpr size_t kRow = 200 * 1024;
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 4 * kPitch), cudaSuccess);
  void* host = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, 4 * kPitch), cudaSuccess);
  auto* bytes = static_cast<char*>(host);
  std::memset(bytes, 1, 4 * kPitch);
  ASSERT_EQ(cudaMemcpy2D(bytes, kPitch, device, kPitch, kRow, 4, cudaMemcpyDefault), cudaSuccess);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_TRUE(is_zero(bytes + row * kPitch, kRow));
    EXPECT_EQ(std::count(bytes + row * kPitch + kRow, bytes + (row + 1) * kPitch, 1),
              static_cast<int64_t>(kPitch - kRow));
  }
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Cudart, TheStreamOrderedAllocatorKeepsItsBooks) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  const auto used = [&] {
    uint64_t bytes = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes), cudaSuccess);
    return bytes;
  };
  const size_t before = free_bytes();
  void* pointer = nullptr;
  ASSERT_EQ(cudaMallocAsync(&pointer, 10 * kMiB, nullptr), cudaSuccess);
  EXPECT_EQ(used(), 10 * kMiB);
  EXPECT_GE(before - free_bytes(), 10 * kMiB);
  EXPECT_EQ(attributes_of(pointer).type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaFreeAsync(pointer, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(pointer, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(free_bytes(), before);
  void* more = nullptr;
  EXPECT_EQ(cudaMallocAsync(&more, 2048 * kMiB, nullptr), cudaErrorMemoryAllocation);
  cudaGetLastError();
}

TEST(Cudart, AGraphHoldsWhatWasCaptured) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, 0, stream), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, 0, stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 2U);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);

  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 512), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  cudaGetLastError();
}

TEST(Cudart, LaunchesThatNoCardWouldTakeAreRefused) {
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(0), dim3(32), nullptr, 0, nullptr),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(2048), nullptr, 0, nullptr),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, kMiB, nullptr),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Cudart, PeersMayReachEachOtherOnce) {
  int can = 0;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice) << "itself";
  cudaGetLastError();
}

TEST(Cudart, WhatIsNotCoveredSaysSoAndFails) {
  testing::internal::CaptureStderr();
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc description{};
  EXPECT_EQ(cudaMallocArray(&array, &description, 4, 4, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaMallocArray(&array, &description, 4, 4, 0), cudaErrorNotSupported);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cudaMallocArray"), std::string::npos) << said;
  EXPECT_EQ(said.find("cudaMallocArray"), said.rfind("cudaMallocArray")) << "said once";
}

TEST(Cudart, AForkedChildCannotUseTheCard) {
  free_bytes();  // CUDA is in use before the fork
  const pid_t child = fork();
  if (child == 0) {
    void* pointer = nullptr;
    quick_exit(cudaMalloc(&pointer, 512) == cudaErrorInitializationError ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Cudart, ExpandableSegmentsAreRealBooks) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  const size_t before = free_bytes();
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, 4096 * kMiB, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before) << "addresses cost nothing";
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(cuMemCreate(&handle, 20 * kMiB, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 20 * kMiB);
  ASSERT_EQ(cuMemMap(address, 20 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(attributes_of(reinterpret_cast<void*>(address)).type, cudaMemoryTypeDevice);
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange(&begin, &bytes, address + kMiB), CUDA_SUCCESS);
  EXPECT_EQ(begin, address);
  EXPECT_EQ(bytes, 20 * kMiB);
  EXPECT_EQ(cuMemAddressFree(address, 4096 * kMiB), CUDA_ERROR_INVALID_VALUE) << "still mapped";
  EXPECT_EQ(cuMemUnmap(address, 20 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange(&begin, &bytes, address), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address, 4096 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("HEADROOM_VIRTUAL_CARD",
         "name=Test Card;compute_capability=9.0;multiprocessors=4;total_bytes=1073741824;"
         "context_bytes=16777216;shared_memory_per_block_optin=232448",
         1);
  setenv("HEADROOM_VIRTUAL_COUNT", "2", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
