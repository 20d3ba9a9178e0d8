#include "train/build.h"

#include <algorithm>
#include <utility>

#include "model/attention.h"
#include "model/layer_factory.h"
#include "train/data/weights.h"
#include "train/generate/rules.h"
#include "train/gradient_rules.h"
#include "train/initial_weights.h"
#include "train/offload/disk/counted_states.h"
#include "train/offload/disk/disk_states.h"
#include "train/offload/disk/run_identity.h"
#include "train/offload/homes_in_memory.h"
#include "train/offload/homes_on_disk.h"
#include "train/offload/memory_states.h"
#include "train/offload/offloaded_activations.h"
#include "train/offload/offloaded_optimizer.h"
#include "train/offload/resident_runner.h"
#include "train/parallel/added_gradients.h"
#include "train/precision.h"
#include "train/real_device.h"
#include "train/techniques/checkpoint.h"
#include "train/techniques/compressed_activations.h"
#include "train/techniques/fp8_linear.h"
#include "train/techniques/gradient_release.h"
#include "train/techniques/master_weights.h"
#include "train/techniques/stochastic_rounding.h"

namespace headroom {
namespace {

const LayerFactory& layers_of(const RunSpec& spec) {
  return spec.precision == Precision::kFp8 ? fp8_layers() : eager_layers();
}

torch::Dtype dtype_of(WeightType weights) {
  return weights == WeightType::kBf16 ? torch::kBFloat16 : torch::kFloat32;
}

uint64_t seed_of(const RunSpec& spec) { return static_cast<uint64_t>(spec.seed); }

// Each once: states and weights may lie in one directory.
void add_notes(const std::vector<std::string>& more, std::vector<std::string>* notes) {
  for (const std::string& note : more) {
    if (std::find(notes->begin(), notes->end(), note) == notes->end()) notes->push_back(note);
  }
}

// The optimizer, and what stands between it and BF16 weights. `seed`: of what it rounds by chance.
std::unique_ptr<Optimizer> make_updates(const RunSpec& spec, std::vector<torch::Tensor> weights,
                                        const OfParameters& of, uint64_t seed) {
  const MakeOptimizer make = [&](std::vector<torch::Tensor> parameters, size_t first) {
    const size_t count = parameters.size();
    return make_optimizer(spec, std::move(parameters), of.part(first, count));
  };
  if (spec.master_weights == MasterCopy::kFp32) {
    const bool by_tensor = spec.optimizer_impl == OptimizerImpl::kReference;
    return std::make_unique<MasterWeights>(
        std::move(weights),
        by_tensor ? MasterWeights::Updates::kTensorByTensor : MasterWeights::Updates::kAllAtOnce,
        make);
  }
  if (spec.rounding == Rounding::kStochastic) {
    return std::make_unique<StochasticRounding>(std::move(weights), seed, make);
  }
  return make(std::move(weights), 0);
}

bool offloads(const RunSpec& spec) {
  const bool saves = builds_graph(spec.profile_type);
  return spec.param_offload.any() || offloads_optimizer(spec) ||
         (spec.activations.offloaded() && saves);
}

// Where the blocks' parameters lie. A virtual card's are counted, not kept, on a disk.
std::unique_ptr<OffloadedParameters> offload_parameters(const RunSpec& spec, int64_t layers,
                                                        torch::Device device,
                                                        const std::shared_ptr<CopyQueue>& copies) {
  if (!spec.param_offload.any()) return nullptr;
  const bool pinned = device.is_cuda();
  std::unique_ptr<BlockHomes> homes;
  if (spec.param_offload.space == MemorySpace::kHost) {
    homes = std::make_unique<HomesInMemory>(pinned, copies);
  } else {
    const std::string directory = is_real(device) ? spec.param_offload.directory : "";
    homes = std::make_unique<HomesOnDisk>(
        DiskHomesOptions{.directory = directory, .blocks = layers, .pinned = pinned}, copies);
  }
  return std::make_unique<OffloadedParameters>(std::move(homes));
}

// Those of the file, where the weights are rounded from them; beside the states until those are
// written.
NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const Holders& holders) {
  const bool rounded = spec.master_weights == MasterCopy::kFp32 && !spec.load_weights.empty();
  return rounded ? masters_of_file(parameters, holders, spec.load_weights) : NamedTensors();
}

bool has_replicas(const Grid* grid) { return grid != nullptr && grid->size(MeshAxis::kData) > 1; }

std::unique_ptr<TensorParallel> split(const RunSpec& spec, const Grid* grid) {
  if (grid == nullptr || grid->size(MeshAxis::kTensor) == 1) return nullptr;
  return std::make_unique<TensorParallel>(grid->group(MeshAxis::kTensor), spec.sequence_parallel);
}

std::unique_ptr<Pipeline> stage(const RunSpec& spec, const ModelConfig& config, const Grid* grid) {
  if (grid == nullptr || grid->size(MeshAxis::kPipeline) == 1) return nullptr;
  return std::make_unique<Pipeline>(spec.schedule, config.layers, grid->group(MeshAxis::kPipeline),
                                    passes(spec));
}

std::unique_ptr<Shards> share(const RunSpec& spec, const Grid* grid) {
  if (!has_replicas(grid) || spec.zero == 0) return nullptr;
  return std::make_unique<Shards>(
      spec.zero, spec.reshard_after_forward, spec.prefetch,
      SharingRanks{.sharers = grid->sharers(), .copies = grid->copies()});
}

Generation generation_of(const RunSpec& spec, torch::Device device,
                         std::vector<std::string>* notes) {
  if (spec.decode_graph && !device.is_cuda()) {
    notes->push_back("--decode-graph changes nothing: there is no CUDA here");
  }
  if (is_forced(spec.attention)) {
    notes->push_back("--attention " + to_string(spec.attention) +
                     " computes prompts from their first token on; what needs a mask, later chunks "
                     "and decode, is by the kernel libtorch chooses");
  }
  return {.response_len = response_tokens(spec),
          .decodes_run = decodes_run(spec),
          .prefill_chunk = spec.prefill_chunk,
          .end_token = spec.end_token,
          .decode_graph = spec.decode_graph && device.is_cuda(),
          .sampling = {.temperature = spec.temperature, .top_k = spec.top_k, .top_p = spec.top_p},
          .seed = seed_of(spec),
          .cache = kv_cache_shape(spec)};
}

void apply_checkpoint(const RunSpec& spec, Step& step, std::vector<std::string>* notes) {
  const Checkpoint& setting = spec.checkpoint;
  if (setting.kind == CheckpointKind::kNone) return;
  const std::string flag = "--checkpoint " + to_string(setting);
  if (!builds_graph(spec.profile_type)) {
    notes->push_back(flag + " changes nothing: a forward without gradients keeps nothing");
    return;
  }
  const RecomputeListener listener = [&step] { return step.scopes(); };
  step.run_groups = checkpointing_runner(setting, listener);
  if (setting.kind != CheckpointKind::kSelective) return;
  if (spec.attention != Attention::kEager) {
    notes->push_back(flag +
                     " computes nothing again: scaled_dot_product_attention keeps what its "
                     "kernel keeps");
    return;
  }
  for (const auto& module : step.model()->modules()) {
    auto* const layer = dynamic_cast<LayerModule*>(module.get());
    if (layer == nullptr) continue;
    if (auto* attention = dynamic_cast<CausalSelfAttention*>(&layer->inner())) {
      attention->run_core = recomputing_core(listener);
    }
  }
}

void apply_activations(const RunSpec& spec, int64_t layers, const Pipeline* pipeline, Step& step) {
  if (spec.activations.exact() || !builds_graph(spec.profile_type)) return;
  if (!spec.activations.offloaded()) {
    step.saved = std::make_unique<CompressedActivations>(spec.activations);
    return;
  }
  auto offloaded =
      std::make_unique<OffloadedActivations>(spec.activations, step.device(), layers, step.copies);
  if (pipeline != nullptr) offloaded->end_at(pipeline->last_blocks());
  step.run_block = offloaded->around(std::move(step.run_block));
  step.saved = std::move(offloaded);
}

// Where the host's update keeps its numbers. A virtual card's are counted, not kept.
std::shared_ptr<HostStates> make_host_states(const RunSpec& spec, const NamedTensors& parameters,
                                             bool computes, std::vector<std::string>* notes) {
  if (spec.optimizer_offload.space == MemorySpace::kHost) {
    return std::make_shared<MemoryStates>(parameters.values());
  }
  std::vector<StateRegion> regions;
  for (const auto& item : parameters) regions.push_back({item.key(), item.value().numel()});
  if (!computes) return std::make_shared<CountedStates>(regions);
  const Offload& place = spec.optimizer_offload;
  auto states = std::make_shared<DiskStates>(
      DiskStatesOptions{
          .directory = place.directory, .identity = run_identity(spec), .keep = place.keep},
      regions);
  add_notes(states->notes(), notes);
  return states;
}

// names: of what the host updates.
HostRanks host_ranks(const RunSpec& spec, const Holders& holders,
                     const std::vector<std::string>& names, Step& step) {
  HostRanks ranks;
  if (spec.mesh.ranks() == 1) return ranks;
  const int64_t replicas = spec.mesh.size(MeshAxis::kData);
  if (replicas > 1) ranks.giver = GradientTaker::Giver::kReplicas;
  ranks.share = 1.0 / static_cast<double>(replicas);
  const TensorParallel* const tensors = holders.tensors;
  for (const std::string& name : names) {
    ranks.counted.push_back(tensors == nullptr || tensors->counts(name));
  }
  ranks.add_up = [&step](double here) { return step.sum_over_ranks(here); };
  return ranks;
}

void offload_updates(const RunSpec& spec, const Holders& holders, const NamedTensors& parameters,
                     Step& step, std::vector<std::string>* notes) {
  const bool in_files = spec.optimizer_offload.space == MemorySpace::kDisk;
  if (step.loss_scaler && in_files) refuse_files_beside_a_loss_scale();
  const bool computes = is_real(step.device());
  const auto states = make_host_states(spec, parameters, computes, notes);
  // Masters on the host of a virtual card are no numbers.
  const bool fills = computes && states->steps_done() < 0;
  const NamedTensors whole = step.model()->named_parameters();
  auto on_host = std::make_unique<OffloadedOptimizer>(
      parameters, step.copies,
      HostAdamwOptions{.learning_rate = spec.learning_rate, .weight_decay = spec.weight_decay},
      states, step.parameters.get(), fills ? first_masters(spec, whole, holders) : NamedTensors(),
      /*host_limit_bytes=*/0, host_ranks(spec, holders, parameters.keys(), step));
  on_host->clip_to(spec.max_grad_norm);
  step.taker = std::move(on_host);
}

void apply_updates(const RunSpec& spec, const Holders& holders, Step& step,
                   std::vector<std::string>* notes) {
  if (spec.profile_type != Mode::kTraining) return;
  const Shards* const shards = holders.shards;
  const auto whole = step.model()->named_parameters();
  const auto parameters = shards != nullptr ? shards->pieces() : whole;
  OfParameters of{.names = parameters.keys()};
  if (shards != nullptr) of.whole_numels = shards->whole_numels();
  step.update_names = of.names;
  if (releases_gradients(spec)) {
    if (step.loss_scaler) refuse_release_of_scaled_gradients();
    // A seed of its own for the random bits of each parameter.
    step.taker = std::make_unique<GradientRelease>(
        parameters, [&](std::vector<torch::Tensor> of_one, size_t first) {
          return make_updates(spec, std::move(of_one), of.part(first, 1), seed_of(spec) + first);
        });
  } else if (offloads_optimizer(spec)) {
    offload_updates(spec, holders, parameters, step, notes);
    return;
  } else {
    step.optimizer = make_updates(spec, parameters.values(), of, seed_of(spec));
  }
  // Master weights are the numbers of the file, not what BF16 left of them.
  const NamedTensors masters = first_masters(spec, whole, holders);
  if (masters.is_empty()) return;
  const torch::NoGradGuard no_grad;
  auto own = step.optimizer ? step.optimizer->master_weights() : step.taker->master_weights();
  for (size_t i = 0; i < own.size(); ++i) own[i].copy_(masters[step.update_names[i]]);
}

// Who takes gradients one by one takes them whole.
void complete_gradients(Step& step) {
  if (!step.taker) return;
  if (step.replicas) step.replicas->give_to(*step.taker);
  if (!step.tensors) return;
  const TensorParallel* const tensors = step.tensors.get();
  step.taker->complete_by([tensors](const std::string& parameter, const torch::Tensor& gradient) {
    tensors->finish_gradients({parameter}, {gradient});
  });
}

}  // namespace

std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes, const Grid* grid) {
  return build_step(spec, model_config(spec), device, notes, grid);
}

std::unique_ptr<Step> build_step(const RunSpec& spec, const ModelConfig& config,
                                 torch::Device device, std::vector<std::string>* notes,
                                 const Grid* grid) {
  install_saved_tensor_hooks();
  torch::manual_seed(seed_of(spec));
  if (spec.precision == Precision::kFp8) check_fp8_device(device);
  // Block by block: on the card there need not be room for all.
  const std::shared_ptr<CopyQueue> copies = offloads(spec) ? make_copy_queue(device) : nullptr;
  std::unique_ptr<OffloadedParameters> parameters =
      offload_parameters(spec, config.layers, device, copies);
  std::unique_ptr<Shards> shards = share(spec, grid);
  std::unique_ptr<TensorParallel> tensors = split(spec, grid);
  std::unique_ptr<Pipeline> pipeline = stage(spec, config, grid);
  LayerFactory layers = layers_of(spec);
  if (tensors) layers = tensors->layers(layers);
  Transformer model(layers, config, pipeline ? pipeline->part() : whole_model(config),
                    spec.context_length, spec.attention, device, dtype_of(spec.weights),
                    [&](int64_t layer, TransformerBlock& block) {
                      if (tensors) tensors->take(layer, block);
                      if (parameters) parameters->take(block);
                      if (shards) shards->take(layer, block);
                    });
  if (tensors) tensors->take_rest(model);
  if (shards) shards->take_rest(model);
  if (shards && pipeline) shards->end_at(pipeline->last_blocks());
  if (parameters && pipeline) parameters->end_at(pipeline->last_blocks());
  const Holders holders{parameters.get(), shards.get(), tensors.get(), pipeline == nullptr};
  if (!spec.load_weights.empty()) {
    load_parameters(model->named_parameters(), holders, spec.load_weights);
  }

  if (parameters) add_notes(parameters->notes(), notes);
  std::string note = spec.weights == WeightType::kBf16 ? bf16_weights_note(device) : "";
  if (!note.empty()) notes->push_back(std::exchange(note, ""));
  const Precision precision = supported_precision(spec.precision, device, &note);
  if (!note.empty()) notes->push_back(note);
  set_matmul_precision(precision);

  auto step = std::make_unique<Step>(model, spec.profile_type, precision, device);
  step->copies = copies;
  apply_checkpoint(spec, *step, notes);
  if (spec.profile_type == Mode::kGenerate) step->generation = generation_of(spec, device, notes);
  step->micro_batches = passes(spec);
  step->max_grad_norm = spec.max_grad_norm;
  apply_activations(spec, config.layers, pipeline.get(), *step);
  if (parameters) step->run_block = around_resident(*parameters, std::move(step->run_block));
  if (shards) step->run_block = shards->around(std::move(step->run_block));
  step->parameters = std::move(parameters);
  if (precision == Precision::kFp16 && has_backward(spec.profile_type)) {
    step->loss_scaler = std::make_unique<LossScaler>(device);
  }
  apply_updates(spec, holders, *step, notes);
  step->tensors = std::move(tensors);
  step->pipeline = std::move(pipeline);
  step->replicas = std::move(shards);
  if (!step->replicas && has_replicas(grid) && has_backward(spec.profile_type)) {
    step->replicas = std::make_unique<AddedGradients>(
        model->named_parameters(), grid->group(MeshAxis::kData), spec.bucket_bytes);
  }
  complete_gradients(*step);
  return step;
}

}  // namespace headroom
