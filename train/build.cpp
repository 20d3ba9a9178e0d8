#include "train/build.h"

#include <algorithm>

#include "model/layer_factory.h"
#include "train/data/weights.h"
#include "train/precision.h"

namespace headroom {
namespace {

// The set of layers of each --kernels.
struct LayerSet {
  Kernels kernels;
  const LayerFactory& (*layers)();
};
constexpr LayerSet kLayerSets[] = {{Kernels::kEager, eager_layers}};

const LayerFactory& layers_of(Kernels kernels) {
  const auto* const set = std::find_if(std::begin(kLayerSets), std::end(kLayerSets),
                                       [&](const LayerSet& row) { return row.kernels == kernels; });
  TORCH_INTERNAL_ASSERT(set != std::end(kLayerSets), "no layers for these kernels");
  return set->layers();
}

}  // namespace

std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes) {
  install_saved_tensor_hooks();
  torch::manual_seed(static_cast<uint64_t>(spec.seed));
  const ModelConfig config = model_config(spec);
  Transformer model(layers_of(spec.kernels), config, spec.context_length, spec.attention, device);
  if (!spec.load_weights.empty()) load_weights(*model, spec.load_weights);

  std::string note;
  const Precision precision = supported_precision(spec.precision, device, &note);
  if (!note.empty()) notes->push_back(note);
  set_matmul_precision(precision);

  auto step = std::make_unique<Step>(model, spec.profile_type, precision, device);
  if (precision == Precision::kFp16 && has_backward(spec.profile_type)) {
    step->loss_scaler = std::make_unique<LossScaler>(device);
  }
  if (spec.profile_type == Mode::kTraining) {
    step->optimizer = make_optimizer(spec, model->parameters());
  }
  return step;
}

}  // namespace headroom
