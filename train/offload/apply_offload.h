// Sets up offload to the host or to a disk.
#pragma once

#include <memory>

#include "train/build_request.h"
#include "train/step.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// The copy queue of all offload; null: nothing is offloaded.
std::shared_ptr<CopyQueue> make_copies(const RunSpec& spec, torch::Device device);

// --param-offload, before the model is made. On a disk a virtual card's parameters are only
// accounted. Null: they stay on the device.
std::shared_ptr<OffloadedParameters> make_offloaded_parameters(const BuildRequest& request);
void apply_param_offload(Step& step);

// --optimizer-offload. parameters: the updated ones. is_scaled: loss scaling. Throws UsageError.
std::shared_ptr<GradientSink> make_offloaded_update(const BuildRequest& request,
                                                    const NamedTensors& parameters, bool is_scaled,
                                                    Step& step);

}  // namespace headroom
