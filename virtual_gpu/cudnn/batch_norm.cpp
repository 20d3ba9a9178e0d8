// Memory sizes of cuDNN's batch normalization. cuDNN's other size queries by handle are in
// recurrent.cpp or refused.
#include <cudnn.h>

#include "virtual_gpu/report/refusal.h"

using namespace virtual_gpu;

namespace {

// The sizes of CUDNN_BATCHNORM_SPATIAL in NCHW. Assumed: they are not documented, and cannot be
// queried without a device. CUDNN_BATCHNORM_SPATIAL_PERSISTENT (channels last, training) may need
// some.
cudnnStatus_t no_bytes(size_t* bytes) {
  if (bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  say_assumed("cuDNN's batch normalization needs no workspace and no reserve space");
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return no_bytes(bytes);
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t* bytes) {
  return no_bytes(bytes);
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, size_t* bytes) {
  return no_bytes(bytes);
}

}  // extern "C"
