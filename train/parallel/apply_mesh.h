// Applies a mesh of ranks to a model and its step.
#pragma once

#include <memory>

#include "train/build_request.h"
#include "train/parallel/pipeline/pipeline.h"
#include "train/step.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// Before the model is made; null if the mesh has no such axis: tensor parallelism, replicas that
// shard parameters or optimizer states (ZeRO), this rank's pipeline stage.
std::shared_ptr<TensorParallel> make_tensor_parallel(const BuildRequest& request);
std::shared_ptr<FullySharded> make_shards(const BuildRequest& request);
std::unique_ptr<Pipeline> make_pipeline(const BuildRequest& request);

// All ranks; null: a single rank. pipeline: null: a single stage.
std::shared_ptr<const World> make_world(const BuildRequest& request, const Pipeline* pipeline,
                                        const ParameterLayout& layout);
void apply_shards(Step& step);
// Data parallelism without sharding: replicas all-reduce their gradients. sink: takes gradients one
// by one; null: the update takes all of them after the last backward.
void apply_replicas(const BuildRequest& request, GradientSink* sink, Step& step);
void apply_tensor_parallel(const BuildRequest& request, Step& step);
void apply_pipeline(std::unique_ptr<Pipeline> pipeline, Step& step);

}  // namespace headroom
