// Attributes and properties of a card, for programs that query them.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "virtual_gpu/cudart/cuda12.h"
#include "virtual_gpu/cudart/device/texture_limits.h"
#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/device/visible.h"

using namespace virtual_gpu;

namespace {
constexpr int kWarpSize = 32;
constexpr int kThreadsPerBlock = 1024;
constexpr int kBlockDimension[] = {1024, 1024, 64};
constexpr int kGridDimension[] = {2147483647, 65535, 65535};
constexpr int kConstantBytes = 65536;
constexpr int kMaxPitch = 2147483647;
constexpr int kTextureAlignment = 512;
constexpr int kTexturePitchAlignment = 32;

bool has_clusters(const Card& card) { return card.major >= 9; }

// FP32 operations per FP64 operation, from the programming guide's table of arithmetic throughput:
// half the FP32 lanes on cards made for FP64, else two units per multiprocessor, which has 64 lanes
// (7.5) or 128.
int single_to_double(const Card& card) {
  if (card.minor == 0 && card.major >= 7 && card.major <= 10) return 2;
  return card.major == 7 ? 32 : 64;
}

// Other cards are data centre cards: ECC always on, no display.
bool is_geforce(const Card& card) { return card.name.find("GeForce") != std::string::npos; }

using OfCard = int (*)(const Card& card);

template <auto field>
int described(const Card& card) {
  return static_cast<int>(card.*field);
}

template <int value>
int constant(const Card&) {
  return value;
}

constexpr OfCard kSupported = constant<1>;

// Constants are not in the card's description: properties of every card of compute capability 7.5
// and later on 64-bit Linux, from the CUDA programming guide's table of technical specifications.
// Attributes that are neither in this list nor among the texture limits are 0: the stand-in does
// not offer what an H100 has of them (sparse arrays, GPUDirect RDMA, handle types of memory pools).
constexpr std::pair<cudaDeviceAttr, OfCard> kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, constant<kThreadsPerBlock>},
    {cudaDevAttrMaxBlockDimX, constant<kBlockDimension[0]>},
    {cudaDevAttrMaxBlockDimY, constant<kBlockDimension[1]>},
    {cudaDevAttrMaxBlockDimZ, constant<kBlockDimension[2]>},
    {cudaDevAttrMaxGridDimX, constant<kGridDimension[0]>},
    {cudaDevAttrMaxGridDimY, constant<kGridDimension[1]>},
    {cudaDevAttrMaxGridDimZ, constant<kGridDimension[2]>},
    {cudaDevAttrTotalConstantMemory, constant<kConstantBytes>},
    {cudaDevAttrWarpSize, constant<kWarpSize>},
    {cudaDevAttrMaxPitch, constant<kMaxPitch>},
    {cudaDevAttrTextureAlignment, constant<kTextureAlignment>},
    {cudaDevAttrSurfaceAlignment, constant<kTextureAlignment>},
    {cudaDevAttrTexturePitchAlignment, constant<kTexturePitchAlignment>},
    {cudaDevAttrMaxSharedMemoryPerBlock, described<&Card::shared_memory_per_block>},
    {cudaDevAttrMaxRegistersPerBlock, described<&Card::registers_per_multiprocessor>},
    {cudaDevAttrMaxRegistersPerMultiprocessor, described<&Card::registers_per_multiprocessor>},
    {cudaDevAttrClockRate, described<&Card::clock_khz>},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, single_to_double},
    {cudaDevAttrMultiProcessorCount, described<&Card::multiprocessors>},
    {cudaDevAttrEccEnabled, [](const Card& card) { return is_geforce(card) ? 0 : 1; }},
    {cudaDevAttrMemoryClockRate, described<&Card::memory_clock_khz>},
    {cudaDevAttrGlobalMemoryBusWidth, described<&Card::memory_bus_bits>},
    {cudaDevAttrL2CacheSize, described<&Card::l2_bytes>},
    {cudaDevAttrMaxThreadsPerMultiProcessor, described<&Card::threads_per_multiprocessor>},
    {cudaDevAttrAsyncEngineCount, [](const Card& card) { return is_geforce(card) ? 2 : 3; }},
    {cudaDevAttrComputeCapabilityMajor, described<&Card::major>},
    {cudaDevAttrComputeCapabilityMinor, described<&Card::minor>},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor,
     described<&Card::shared_memory_per_multiprocessor>},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, described<&Card::shared_memory_per_block_optin>},
    {cudaDevAttrReservedSharedMemoryPerBlock, described<&Card::reserved_shared_memory_per_block>},
    {cudaDevAttrMaxBlocksPerMultiprocessor, described<&Card::blocks_per_multiprocessor>},
    {cudaDevAttrClusterLaunch, [](const Card& card) { return has_clusters(card) ? 1 : 0; }},
    // An H100 (driver 580.159.04) keeps five eighths of the L2 cache; unknown for other cards.
    {cudaDevAttrMaxPersistingL2CacheSize,
     [](const Card& card) {
       return card.major == 9 ? static_cast<int>(card.l2_bytes / 8 * 5) : 0;
     }},
    {cudaDevAttrMaxAccessPolicyWindowSize,
     [](const Card& card) { return card.major == 9 ? 128 << 20 : 0; }},
    {cudaDevAttrMaxTexture1DLinearWidth, constant<1 << 28>},
    {cudaDevAttrMemSyncDomainCount, [](const Card& card) { return has_clusters(card) ? 4 : 1; }},
    {cudaDevAttrNumaId, constant<-1>},
    {cudaDevAttrGpuOverlap, kSupported},
    {cudaDevAttrCanMapHostMemory, kSupported},
    {cudaDevAttrConcurrentKernels, kSupported},
    {cudaDevAttrUnifiedAddressing, kSupported},
    {cudaDevAttrStreamPrioritiesSupported, kSupported},
    {cudaDevAttrGlobalL1CacheSupported, kSupported},
    {cudaDevAttrLocalL1CacheSupported, kSupported},
    {cudaDevAttrManagedMemory, kSupported},
    {cudaDevAttrConcurrentManagedAccess, kSupported},
    {cudaDevAttrComputePreemptionSupported, kSupported},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, kSupported},
    {cudaDevAttrCooperativeLaunch, kSupported},
    {cudaDevAttrHostRegisterSupported, kSupported},
    {cudaDevAttrMemoryPoolsSupported, kSupported},
    {cudaDevAttrIpcEventSupport, kSupported},
};

int attribute(const Card& card, int card_of_host, cudaDeviceAttr attr) {
  if (attr == cudaDevAttrPciBusId) return pci_bus_of(card_of_host);
  const auto* const texture =
      std::ranges::find(kTextureLimits, attr, &std::pair<cudaDeviceAttr, int>::first);
  if (texture != std::end(kTextureLimits)) return texture->second;
  const auto* const found =
      std::ranges::find(kAttributes, attr, &std::pair<cudaDeviceAttr, OfCard>::first);
  return found == std::end(kAttributes) ? 0 : found->second(card);
}

// The constants among the properties.
template <typename Properties>
void set_limits(Properties& prop) {
  prop.warpSize = kWarpSize;
  prop.memPitch = kMaxPitch;
  prop.maxThreadsPerBlock = kThreadsPerBlock;
  std::copy_n(kBlockDimension, 3, prop.maxThreadsDim);
  std::copy_n(kGridDimension, 3, prop.maxGridSize);
  prop.totalConstMem = kConstantBytes;
  prop.textureAlignment = kTextureAlignment;
  prop.surfaceAlignment = kTextureAlignment;
  prop.texturePitchAlignment = kTexturePitchAlignment;
  // CUDA 12 has one that is no texture limit after the first two.
  int* texture = &prop.maxTexture1D;
  for (const auto& [attr, value] : kTextureLimits) {
    if (attr == cudaDevAttrMaxTexture2DWidth) texture = prop.maxTexture2D;
    *texture++ = value;
  }
}

template <typename Properties>
void set_supported(Properties& prop) {
  for (int* const supported :
       {&prop.canMapHostMemory, &prop.concurrentKernels, &prop.unifiedAddressing,
        &prop.streamPrioritiesSupported, &prop.globalL1CacheSupported, &prop.localL1CacheSupported,
        &prop.managedMemory, &prop.concurrentManagedAccess, &prop.computePreemptionSupported,
        &prop.canUseHostPointerForRegisteredMem, &prop.cooperativeLaunch,
        &prop.hostRegisterSupported, &prop.memoryPoolsSupported, &prop.ipcEventSupported}) {
    *supported = 1;
  }
}

template <typename Properties>
void describe(const Card& card, Properties& prop) {
  std::snprintf(prop.name, sizeof prop.name, "%s", card.name.c_str());
  prop.totalGlobalMem = card.total_bytes;
  prop.sharedMemPerBlock = card.shared_memory_per_block;
  prop.regsPerBlock = card.registers_per_multiprocessor;
  prop.major = card.major;
  prop.minor = card.minor;
  prop.multiProcessorCount = card.multiprocessors;
  prop.memoryBusWidth = card.memory_bus_bits;
  prop.l2CacheSize = static_cast<int>(card.l2_bytes);
  prop.maxThreadsPerMultiProcessor = card.threads_per_multiprocessor;
  prop.sharedMemPerMultiprocessor = card.shared_memory_per_multiprocessor;
  prop.regsPerMultiprocessor = card.registers_per_multiprocessor;
  prop.sharedMemPerBlockOptin = card.shared_memory_per_block_optin;
  prop.maxBlocksPerMultiProcessor = card.blocks_per_multiprocessor;
  prop.reservedSharedMemPerBlock = card.reserved_shared_memory_per_block;
}

// Members that only one version's structure has.
template <typename Ask>
void set_members_of_one_version(const Ask& ask, cudaDeviceProp& prop) {
  prop.deviceNumaId = ask(cudaDevAttrNumaId);
}

template <typename Ask>
void set_members_of_one_version(const Ask& ask, DeviceProperties12& prop) {
  prop.clockRate = ask(cudaDevAttrClockRate);
  prop.deviceOverlap = ask(cudaDevAttrGpuOverlap);
  prop.maxTexture1DLinear = ask(cudaDevAttrMaxTexture1DLinearWidth);
  prop.memoryClockRate = ask(cudaDevAttrMemoryClockRate);
  prop.singleToDoublePrecisionPerfRatio = ask(cudaDevAttrSingleToDoublePrecisionPerfRatio);
}

template <typename Properties>
cudaError_t describe_visible(int device, Properties& prop) {
  if (const cudaError_t error = usable()) return error;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  const Card& card = Machine::get().device(device).card();
  const auto ask = [&](cudaDeviceAttr attr) {
    return attribute(card, Machine::get().card_of_host(device), attr);
  };
  prop = {};
  set_limits(prop);
  set_supported(prop);
  describe(card, prop);
  std::ranges::copy(Machine::get().uuid(device), prop.uuid.bytes);
  prop.ECCEnabled = ask(cudaDevAttrEccEnabled);
  prop.pciBusID = ask(cudaDevAttrPciBusId);
  prop.asyncEngineCount = ask(cudaDevAttrAsyncEngineCount);
  prop.clusterLaunch = ask(cudaDevAttrClusterLaunch);
  prop.persistingL2CacheMaxSize = ask(cudaDevAttrMaxPersistingL2CacheSize);
  prop.accessPolicyMaxWindowSize = ask(cudaDevAttrMaxAccessPolicyWindowSize);
  set_members_of_one_version(ask, prop);
  return cudaSuccess;
}

}  // namespace

namespace virtual_gpu {

cudaError_t describe_device(cudaDeviceProp& properties, int device) {
  return describe_visible(device, properties);
}

cudaError_t describe_device(DeviceProperties12& properties, int device) {
  return describe_visible(device, properties);
}

}  // namespace virtual_gpu

extern "C" {

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  if (const cudaError_t error = usable()) return error;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  if (attr <= 0 || attr >= cudaDevAttrMax) return result(cudaErrorInvalidValue);
  *value =
      attribute(Machine::get().device(device).card(), Machine::get().card_of_host(device), attr);
  return cudaSuccess;
}

}  // extern "C"
