#include "train/kernels/apply_kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "train/kernels/compiled_region.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using torch::Tensor;
using Region = std::shared_ptr<const CompiledRegion>;

size_t place_of(const std::string& name, const CompiledRegion& region) {
  const std::vector<std::string>& names = region.inputs();
  const auto found = std::find(names.begin(), names.end(), name);
  TORCH_CHECK(found != names.end(), "a compiled region has no input ", name);
  return static_cast<size_t>(found - names.begin());
}

// The parameters and tables of a region, at their places. Each call fills in the others.
std::vector<Tensor> inputs_of(const CompiledRegion& region, const torch::nn::Module& module,
                              const std::vector<Tensor>& tables) {
  const auto parameters = module.named_parameters();
  std::vector<Tensor> inputs;
  for (const std::string& name : region.inputs()) {
    if (const Tensor* const found = parameters.find(name)) {
      inputs.push_back(*found);
    } else {
      inputs.push_back(name == "cos" ? tables[0] : name == "sin" ? tables[1] : Tensor());
    }
  }
  return inputs;
}

BlockRunner compiled_blocks(const Region& region, const Transformer& model) {
  const auto inputs = std::make_shared<std::map<int64_t, std::vector<Tensor>>>();
  return [=, x = place_of("x", *region), tables = model->tables()](
             int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    std::vector<Tensor>& known = (*inputs)[index];
    if (known.empty()) known = inputs_of(*region, *block, tables);
    std::vector<Tensor> now = known;
    now[x] = x_BSD;
    return region->run(std::move(now));
  };
}

LossOfBatch compiled_head(const Region& region, const Transformer& model) {
  return [region, known = inputs_of(*region, *model, {}), x = place_of("x", *region),
          targets = place_of("targets", *region)](const Tensor& x_BSD, const Tensor& targets_BS) {
    std::vector<Tensor> now = known;
    now[x] = x_BSD;
    now[targets] = targets_BS;
    return region->run(std::move(now));
  };
}

}  // namespace

void apply_kernels(const BuildRequest& request, Step& step) {
  if (request.spec.kernels != Kernels::kCompiled) return;
  const std::vector<nlohmann::json> settings = region_settings(request.spec);
  const auto load = [&](size_t i) {
    return std::make_shared<const CompiledRegion>(region_folder(settings[i]), request.device);
  };
  step.run_block = compiled_blocks(load(0), step.model());
  step.loss = compiled_head(load(1), step.model());
  step.loss_of = MicroBatch::Output::kBlocks;
}

}  // namespace headroom
