#include "train/update/apply_update.h"

#include <utility>

#include "train/offload/apply_offload.h"
#include "train/settings/gradient_rules.h"
#include "train/techniques/master_weights.h"
#include "train/techniques/stochastic_rounding.h"
#include "train/update/gradient_release.h"
#include "train/update/optimizer_update.h"

namespace headroom {
namespace {

// The optimizer, wrapped for BF16 weights. `seed`: of stochastic rounding.
std::unique_ptr<Optimizer> make_optimizers(const RunSpec& spec, std::vector<torch::Tensor> weights,
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
    const torch::Device device = weights.empty() ? torch::kCPU : weights.front().device();
    return std::make_unique<StochasticRounding>(std::move(weights), seed, make,
                                                compiled_operation(spec, "round_to_bf16", device));
  }
  return make(std::move(weights), 0);
}

std::shared_ptr<GradientSink> release_gradients(const BuildRequest& request,
                                                const NamedTensors& parameters,
                                                const OfParameters& of, bool is_scaled) {
  if (is_scaled) refuse_release_of_scaled_gradients();
  // Each parameter's random bits get their own seed.
  return std::make_shared<GradientRelease>(
      parameters, [&](std::vector<torch::Tensor> of_one, size_t first) {
        return make_optimizers(request.spec, std::move(of_one), of.part(first, 1),
                               request.seed() + first);
      });
}

std::shared_ptr<OptimizerUpdate> update_at_end(const BuildRequest& request,
                                               const NamedTensors& parameters,
                                               const OfParameters& of, const Step& step) {
  auto update = std::make_shared<OptimizerUpdate>(
      make_optimizers(request.spec, parameters.values(), of, request.seed()), of.names);
  update->clip_to(request.spec.max_grad_norm);
  if (request.world) update->join(request.world, counted_here(step.layout, of.names));
  return update;
}

// Master weights start from the file's numbers, not from their BF16 rounding.
void fill_masters(const RunSpec& spec, const Step& step, const std::vector<std::string>& names) {
  const NamedTensors masters = first_masters(spec, step.model()->named_parameters(), step.layout);
  if (masters.is_empty()) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> own = step.update->master_weights();
  for (size_t i = 0; i < own.size(); ++i) own[i].copy_(masters[names[i]]);
}

std::unique_ptr<LossScaler> make_loss_scaler(const BuildRequest& request, Precision precision) {
  if (precision != Precision::kFp16 || !has_backward(request.spec.profile_type)) return nullptr;
  return std::make_unique<LossScaler>(request.device);
}

}  // namespace

GradientSink* apply_update(const BuildRequest& request, Step& step) {
  const RunSpec& spec = request.spec;
  std::unique_ptr<LossScaler> loss_scaler = make_loss_scaler(request, step.precision());
  const bool is_scaled = loss_scaler != nullptr;
  std::shared_ptr<GradientSink> sink;
  if (spec.profile_type == Mode::kTraining) {
    const auto& shards = step.layout.fully_sharded;
    const NamedTensors parameters = shards ? shards->pieces() : step.model()->named_parameters();
    OfParameters of{.names = parameters.keys()};
    if (shards) of.whole_numels = shards->whole_numels();
    if (releases_gradients(spec)) {
      sink = release_gradients(request, parameters, of, is_scaled);
    } else if (offloads_optimizer(spec)) {
      sink = make_offloaded_update(request, parameters, is_scaled, step);
    }
    step.update = sink;
    if (!sink) step.update = update_at_end(request, parameters, of, step);
    if (!offloads_optimizer(spec)) fill_masters(spec, step, of.names);
  }
  step.update->loss_scaler = std::move(loss_scaler);
  return sink.get();
}

}  // namespace headroom
