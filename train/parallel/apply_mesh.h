// What the ranks of a mesh do with a model and its step.
#pragma once

#include <memory>

#include "train/build_request.h"
#include "train/parallel/pipeline/pipeline.h"
#include "train/step.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// Before the model is made, each null where the mesh has no such axis: ranks that have a part of
// each matrix, replicas that share parameters or optimizer states (ZeRO), this rank's stage.
std::shared_ptr<TensorParallel> make_tensor_parallel(const BuildRequest& request);
std::shared_ptr<FullySharded> make_shards(const BuildRequest& request);
std::unique_ptr<Pipeline> make_pipeline(const BuildRequest& request);

// All ranks; null: this one is alone. pipeline: null: there is one stage.
std::shared_ptr<const World> make_world(const BuildRequest& request, const Pipeline* pipeline,
                                        const ParameterLayout& layout);
void apply_shards(Step& step);
// Replicas that share nothing add up their gradients. sink: the update that takes gradients one by
// one; null: it takes all of them after the last backward.
void apply_replicas(const BuildRequest& request, GradientSink* sink, Step& step);
void apply_tensor_parallel(const BuildRequest& request, Step& step);
void apply_pipeline(std::unique_ptr<Pipeline> pipeline, Step& step);

}  // namespace headroom
