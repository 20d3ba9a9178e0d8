// cuDNN's recurrent networks (nn.LSTM, nn.GRU, nn.RNN): their memory sizes are the real library's
// answer (Note [Asked without a handle]); the networks themselves are launches (launches.cpp).
#include <cudnn.h>

#include <array>
#include <map>
#include <mutex>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudnn/library.h"
#include "virtual_gpu/report/refusal.h"

using namespace virtual_gpu;

namespace {

// The real library gets a block of memory in place of a handle, and reads its card's figures from
// it. Only the compute capability was seen to change its sizes: every word has it.
cudnnHandle_t handle_of(int compute_capability) {
  constexpr size_t kWords = 65536;
  using Block = std::array<int32_t, kWords>;
  static std::mutex mutex;
  static auto* blocks = new std::map<int, Block>();
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = blocks->try_emplace(compute_capability);
  if (is_new) found->second.fill(compute_capability);
  return reinterpret_cast<cudnnHandle_t>(&found->second[kWords / 4]);
}

cudnnHandle_t no_card() { return handle_of(0); }

// In cuDNN's form: 900 is 9.0.
cudnnHandle_t this_card() {
  const Card& card = Machine::get().here().card();
  return handle_of(card.major * 100 + card.minor * 10);
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                         size_t* bytes) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  return HEADROOM_CUDNN(cudnnGetRNNWeightSpaceSize, no_card(), network, bytes);
}

// Adds offsets to the address of the weights; reads none of them.
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                      int32_t layer, size_t bytes, const void* weights,
                                      int32_t matrix_of_layer, cudnnTensorDescriptor_t matrix,
                                      void** matrix_address, cudnnTensorDescriptor_t bias,
                                      void** bias_address) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  return HEADROOM_CUDNN(cudnnGetRNNWeightParams, no_card(), network, layer, bytes, weights,
                        matrix_of_layer, matrix, matrix_address, bias, bias_address);
}

// The real library fills in both sizes, then fails when it looks for its device.
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t input,
                                        size_t* workspace, size_t* reserve) {
  if (handle == nullptr || workspace == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (usable() != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  *workspace = 0;
  const cudnnStatus_t status = HEADROOM_CUDNN(cudnnGetRNNTempSpaceSizes, this_card(), network, mode,
                                              input, workspace, reserve);
  if (*workspace == 0) return status;
  say_assumed(
      "the workspace of cuDNN's recurrent networks: planned for this compute capability, with "
      "nothing else known of the card");
  return CUDNN_STATUS_SUCCESS;
}

// A generator for every second resident thread, in blocks of 256.
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  constexpr size_t kGeneratorBytes = 48;
  constexpr size_t kBlock = 256;
  if (handle == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (usable() != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  say_assumed("the random states of cuDNN's dropout: 48 bytes for every second resident thread");
  const Card& card = Machine::get().here().card();
  const auto threads = static_cast<size_t>(card.multiprocessors) *
                       (static_cast<size_t>(card.threads_per_multiprocessor) / 2);
  *bytes = (threads + kBlock - 1) / kBlock * kBlock * kGeneratorBytes;
  return CUDNN_STATUS_SUCCESS;
}

// Restoring omits the kernel that writes the states, which hold no values here.
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                        float probability, void* states, size_t bytes,
                                        unsigned long long seed) {
  return cudnnRestoreDropoutDescriptor(descriptor, handle, probability, states, bytes, seed);
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor,
                                            cudnnHandle_t handle, float probability, void* states,
                                            size_t bytes, unsigned long long seed) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  return HEADROOM_CUDNN(cudnnRestoreDropoutDescriptor, descriptor, no_card(), probability, states,
                        bytes, seed);
}

}  // extern "C"
