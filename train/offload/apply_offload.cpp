#include "train/offload/apply_offload.h"

#include <utility>

#include "train/offload/blocks/disk_block_storage.h"
#include "train/offload/blocks/host_block_storage.h"
#include "train/offload/blocks/prefetching_runner.h"
#include "train/offload/disk/counted_states.h"
#include "train/offload/disk/disk_states.h"
#include "train/offload/disk/run_identity.h"
#include "train/offload/states/memory_states.h"
#include "train/offload/states/offloaded_optimizer.h"
#include "train/settings/device/real_device.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

bool offloads(const RunSpec& spec) {
  const bool saves = builds_graph(spec.profile_type);
  return spec.param_offload.any() || offloads_optimizer(spec) ||
         (spec.activations.offloaded() && saves);
}

// The storage of the host's update. A virtual card's states are only accounted.
std::shared_ptr<HostStates> make_host_states(const BuildRequest& request,
                                             const NamedTensors& parameters) {
  const RunSpec& spec = request.spec;
  if (spec.optimizer_offload.space == MemorySpace::kHost) {
    return std::make_shared<MemoryStates>(parameters.values());
  }
  std::vector<StateRegion> regions;
  for (const auto& item : parameters) regions.push_back({item.key(), item.value().numel()});
  if (!is_real(request.device)) return std::make_shared<CountedStates>(regions);
  const Offload& place = spec.optimizer_offload;
  auto states = std::make_shared<DiskStates>(
      DiskStatesOptions{
          .directory = place.directory, .identity = run_identity(spec), .keep = place.keep},
      regions);
  request.note(states->notes());
  return states;
}

// names: the parameters that the host updates.
HostRanks host_ranks(const BuildRequest& request, const Step& step,
                     const std::vector<std::string>& names) {
  HostRanks ranks;
  if (!request.world) return ranks;
  const int64_t replicas = request.size(MeshAxis::kData);
  if (replicas > 1) ranks.source = GradientSink::Source::kReplicas;
  ranks.share = 1.0 / static_cast<double>(replicas);
  ranks.counted = counted_here(step.layout, names);
  ranks.add_up = [world = request.world](double here) { return world->sum(here); };
  return ranks;
}

}  // namespace

std::shared_ptr<CopyQueue> make_copies(const RunSpec& spec, torch::Device device) {
  return offloads(spec) ? make_copy_queue(device) : nullptr;
}

std::shared_ptr<OffloadedParameters> make_offloaded_parameters(const BuildRequest& request) {
  const Offload& place = request.spec.param_offload;
  if (!place.any()) return nullptr;
  const bool pinned = request.device.is_cuda();
  std::unique_ptr<BlockStorage> storage;
  if (place.space == MemorySpace::kHost) {
    storage = std::make_unique<HostBlockStorage>(pinned, request.copies);
  } else {
    const std::string directory = is_real(request.device) ? place.directory : "";
    storage = std::make_unique<DiskBlockStorage>(
        DiskBlockStorageOptions{
            .directory = directory, .blocks = request.config.layers, .pinned = pinned},
        request.copies);
  }
  return std::make_shared<OffloadedParameters>(std::move(storage));
}

void apply_param_offload(Step& step) {
  const auto& offloaded = step.layout.offloaded;
  if (!offloaded) return;
  step.hooks.add(offloaded);
  step.run_block = with_prefetch(*offloaded, std::move(step.run_block));
}

std::shared_ptr<GradientSink> make_offloaded_update(const BuildRequest& request,
                                                    const NamedTensors& parameters, bool is_scaled,
                                                    Step& step) {
  const RunSpec& spec = request.spec;
  const bool in_files = spec.optimizer_offload.space == MemorySpace::kDisk;
  if (is_scaled && in_files) refuse_files_beside_a_loss_scale();
  const bool computes = is_real(step.device());
  const auto states = make_host_states(request, parameters);
  // A virtual card's masters on the host have no values.
  const bool fills = computes && states->steps_done() < 0;
  const NamedTensors whole = step.model()->named_parameters();
  auto on_host = std::make_shared<OffloadedOptimizer>(
      parameters, request.copies,
      HostAdamwOptions{.learning_rate = spec.learning_rate, .weight_decay = spec.weight_decay},
      states, step.layout.offloaded.get(),
      fills ? first_masters(spec, whole, step.layout) : NamedTensors(),
      /*host_limit_bytes=*/0, host_ranks(request, step, parameters.keys()));
  on_host->clip_to(spec.max_grad_norm);
  return on_host;
}

}  // namespace headroom
