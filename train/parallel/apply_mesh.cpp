#include "train/parallel/apply_mesh.h"

#include <utility>

#include "train/parallel/data/data_parallel.h"
#include "train/settings/gradient_rules.h"

namespace headroom {

using torch::Tensor;

std::shared_ptr<TensorParallel> make_tensor_parallel(const BuildRequest& request) {
  if (request.size(MeshAxis::kTensor) == 1) return nullptr;
  return std::make_shared<TensorParallel>(request.device_mesh->group(MeshAxis::kTensor),
                                          request.spec.sequence_parallel);
}

std::shared_ptr<FullySharded> make_shards(const BuildRequest& request) {
  const RunSpec& spec = request.spec;
  if (request.size(MeshAxis::kData) == 1 || spec.zero == 0) return nullptr;
  return std::make_shared<FullySharded>(spec.zero, spec.reshard_after_forward, spec.prefetch,
                                        SharingRanks{.sharers = request.device_mesh->sharers(),
                                                     .copies = request.device_mesh->copies()});
}

std::unique_ptr<Pipeline> make_pipeline(const BuildRequest& request) {
  if (request.size(MeshAxis::kPipeline) == 1) return nullptr;
  return std::make_unique<Pipeline>(request.spec.schedule, request.config.layers,
                                    request.device_mesh->group(MeshAxis::kPipeline),
                                    passes(request.spec));
}

std::shared_ptr<const World> make_world(const BuildRequest& request, const Pipeline* pipeline,
                                        const ParameterLayout& layout) {
  if (request.device_mesh == nullptr || request.spec.mesh.ranks() == 1) return nullptr;
  const auto world = std::make_shared<World>(request.device);
  if (layout.fully_sharded) {
    world->add(request.device_mesh->sharers());
    world->add_copies(request.device_mesh->copies());
  }
  if (layout.tensors) world->add(request.device_mesh->group(MeshAxis::kTensor));
  if (pipeline != nullptr) world->add(pipeline->stages());
  return world;
}

void apply_shards(Step& step) {
  const auto& fully_sharded = step.layout.fully_sharded;
  if (!fully_sharded) return;
  step.hooks.add(fully_sharded);
  step.run_block = fully_sharded->around(std::move(step.run_block));
}

void apply_replicas(const BuildRequest& request, GradientSink* sink, Step& step) {
  if (request.size(MeshAxis::kData) == 1 || !has_backward(request.spec.profile_type)) return;
  if (const auto& fully_sharded = step.layout.fully_sharded) {
    if (sink != nullptr) fully_sharded->send_to(*sink);
    return;
  }
  const auto added = std::make_shared<DataParallel>(step.model()->named_parameters(),
                                                    request.device_mesh->group(MeshAxis::kData),
                                                    request.spec.bucket_bytes);
  if (sink != nullptr) added->send_to(*sink);
  step.hooks.add(added);
}

void apply_tensor_parallel(const BuildRequest& request, Step& step) {
  const auto& tensors = step.layout.tensors;
  if (!tensors || !has_backward(request.spec.profile_type)) return;
  step.loss = [tensors](const Tensor& logits_BSV, const Tensor& targets_BS) {
    return tensors->loss(logits_BSV, targets_BS);
  };
  step.update->complete_by(
      [tensors](const std::vector<std::string>& names, const std::vector<Tensor>& gradients) {
        tensors->finish_gradients(names, gradients);
      });
}

void apply_pipeline(std::unique_ptr<Pipeline> pipeline, Step& step) {
  if (!pipeline) return;
  const auto& tensors = step.layout.tensors;
  pipeline->send_as({.d_model = step.model()->d_model(),
                     .token_parts = tensors ? tensors->token_parts() : 1,
                     .options = step.model()->parameters().front().options().requires_grad(false)});
  step.schedule = std::move(pipeline);
}

}  // namespace headroom
