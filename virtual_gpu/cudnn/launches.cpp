// cuDNN's single-operation functions from before its graph API, whose memory is all the caller's: a
// launch each. Declared without cuDNN's header: only the first argument, the handle, is read. In
// the C calling convention the caller cleans up the others.
#include "virtual_gpu/cudnn/handle.h"

#define HEADROOM_LAUNCH(name)                                   \
  extern "C" int name(const virtual_gpu::CudnnHandle* handle) { \
    return virtual_gpu::launch(handle);                         \
  }

HEADROOM_LAUNCH(cudnnActivationBackward)
HEADROOM_LAUNCH(cudnnActivationForward)
HEADROOM_LAUNCH(cudnnAddTensor)
HEADROOM_LAUNCH(cudnnBatchNormalizationBackward)
HEADROOM_LAUNCH(cudnnBatchNormalizationBackwardEx)
HEADROOM_LAUNCH(cudnnBatchNormalizationForwardInference)
HEADROOM_LAUNCH(cudnnBatchNormalizationForwardTraining)
HEADROOM_LAUNCH(cudnnBatchNormalizationForwardTrainingEx)
HEADROOM_LAUNCH(cudnnConvolutionBackwardBias)
HEADROOM_LAUNCH(cudnnLRNCrossChannelBackward)
HEADROOM_LAUNCH(cudnnLRNCrossChannelForward)
HEADROOM_LAUNCH(cudnnOpTensor)
HEADROOM_LAUNCH(cudnnPoolingBackward)
HEADROOM_LAUNCH(cudnnPoolingForward)
HEADROOM_LAUNCH(cudnnRNNBackwardData_v8)
HEADROOM_LAUNCH(cudnnRNNBackwardWeights_v8)
HEADROOM_LAUNCH(cudnnRNNForward)
HEADROOM_LAUNCH(cudnnScaleTensor)
HEADROOM_LAUNCH(cudnnSetTensor)
HEADROOM_LAUNCH(cudnnSoftmaxBackward)
HEADROOM_LAUNCH(cudnnSoftmaxForward)
HEADROOM_LAUNCH(cudnnSpatialTfGridGeneratorBackward)
HEADROOM_LAUNCH(cudnnSpatialTfGridGeneratorForward)
HEADROOM_LAUNCH(cudnnSpatialTfSamplerBackward)
HEADROOM_LAUNCH(cudnnSpatialTfSamplerForward)
HEADROOM_LAUNCH(cudnnTransformTensor)
#undef HEADROOM_LAUNCH
