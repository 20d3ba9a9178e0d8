#include "train/build.h"

#include <memory>
#include <utility>

#include "model/layer_factory.h"
#include "train/build_request.h"
#include "train/generate/generate.h"
#include "train/kernels/apply_kernels.h"
#include "train/kernels/step_graph.h"
#include "train/offload/apply_offload.h"
#include "train/parallel/apply_mesh.h"
#include "train/settings/gradient_rules.h"
#include "train/techniques/activations/apply_activations.h"
#include "train/techniques/checkpoint/apply_checkpoint.h"
#include "train/techniques/fp8_linear.h"
#include "train/techniques/precision.h"
#include "train/update/apply_update.h"

namespace headroom {
namespace {

LayerFactory layers_of(const RunSpec& spec, const ParameterLayout& layout) {
  const LayerFactory& whole = spec.precision == Precision::kFp8 ? fp8_layers() : eager_layers();
  return layout.tensors ? layout.tensors->layers(whole) : whole;
}

// Seeded, in FP32, rounded to --param-dtype. Techniques shard and move each block as soon as it is
// made, so the card never needs room for all blocks.
Transformer make_model(const BuildRequest& request, const Pipeline* pipeline,
                       const ParameterLayout& layout) {
  const RunSpec& spec = request.spec;
  const auto type = spec.weights == WeightType::kBf16 ? torch::kBFloat16 : torch::kFloat32;
  Transformer model(layers_of(spec, layout), request.config,
                    pipeline == nullptr ? whole_model(request.config) : pipeline->part(),
                    spec.context_length, spec.attention, request.device, type,
                    [&](int64_t layer, TransformerBlock& block) {
                      if (layout.tensors) layout.tensors->take(layer, block);
                      if (layout.offloaded) layout.offloaded->take(block);
                      if (layout.fully_sharded) layout.fully_sharded->take(layer, block);
                    });
  if (layout.tensors) layout.tensors->take_rest(model);
  if (layout.fully_sharded) layout.fully_sharded->take_rest(model);
  if (layout.fully_sharded) layout.fully_sharded->end_at(layout.last_blocks);
  if (layout.offloaded) layout.offloaded->end_at(layout.last_blocks);
  if (layout.offloaded) layout.offloaded->name(model->named_parameters());
  if (!spec.load_weights.empty()) {
    load_parameters(model->named_parameters(), layout, spec.load_weights);
  }
  if (layout.offloaded) request.note(layout.offloaded->notes());
  return model;
}

// Switches the precision and returns the one that runs on this device.
Precision apply_precision(const BuildRequest& request) {
  const RunSpec& spec = request.spec;
  std::string note = spec.weights == WeightType::kBf16 ? bf16_weights_note(request.device) : "";
  if (!note.empty()) request.notes->push_back(std::exchange(note, ""));
  const Precision precision = supported_precision(spec.precision, request.device, &note);
  if (!note.empty()) request.notes->push_back(note);
  set_matmul_precision(precision);
  return precision;
}

}  // namespace

std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes, const DeviceMesh* device_mesh) {
  return build_step(spec, model_config(spec), device, notes, device_mesh);
}

std::unique_ptr<Step> build_step(const RunSpec& spec, const ModelConfig& config,
                                 torch::Device device, std::vector<std::string>* notes,
                                 const DeviceMesh* device_mesh) {
  install_saved_tensor_hooks();
  torch::manual_seed(static_cast<uint64_t>(spec.seed));
  if (spec.precision == Precision::kFp8) check_fp8_device(device);
  BuildRequest request{.spec = spec,
                       .config = config,
                       .device = device,
                       .device_mesh = device_mesh,
                       .notes = notes,
                       .copies = make_copies(spec, device)};
  ParameterLayout layout{.tensors = make_tensor_parallel(request),
                         .fully_sharded = make_shards(request),
                         .offloaded = make_offloaded_parameters(request)};
  std::unique_ptr<Pipeline> pipeline = make_pipeline(request);
  if (pipeline) layout.last_blocks = pipeline->last_blocks();
  request.world = make_world(request, pipeline.get(), layout);
  Transformer model = make_model(request, pipeline.get(), layout);
  const Precision precision = apply_precision(request);

  auto step = std::make_unique<Step>(std::move(model), spec.profile_type, precision, device);
  step->layout = std::move(layout);
  step->copies = request.copies;
  step->micro_batches = passes(spec);
  apply_kernels(request, *step);
  apply_checkpoint(request, *step);
  apply_generation(request, *step);
  apply_activations(request, *step);
  apply_param_offload(*step);
  apply_shards(*step);
  GradientSink* const sink = apply_update(request, *step);
  apply_replicas(request, sink, *step);
  apply_tensor_parallel(request, *step);
  apply_pipeline(std::move(pipeline), *step);
  apply_step_graph(request, *step);
  return step;
}

}  // namespace headroom
