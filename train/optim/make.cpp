// make_optimizer(): the constructor of every optimizer that a step can run.
#include "train/optim/adam8bit.h"
#include "train/optim/adam_mini.h"
#include "train/optim/adamw.h"
#include "train/optim/lion.h"
#include "train/optim/muon.h"
#include "train/optim/optimizer.h"
#include "train/optim/sgd.h"

namespace headroom {

std::unique_ptr<Optimizer> make_optimizer(const RunSpec& spec,
                                          std::vector<torch::Tensor> parameters,
                                          const OfParameters& of) {
  const torch::Device device = parameters.empty() ? torch::kCPU : parameters.front().device();
  const auto compiled = [&](const char* name) { return compiled_operation(spec, name, device); };
  switch (spec.optimizer) {
    case OptimizerKind::kAdamw:
      return std::make_unique<Adamw>(std::move(parameters), spec.optimizer_impl,
                                     AdamwOptions{.learning_rate = spec.learning_rate,
                                                  .weight_decay = spec.weight_decay,
                                                  .is_captured = spec.step_graph});
    case OptimizerKind::kSgd:
      return std::make_unique<Sgd>(
          std::move(parameters), spec.optimizer_impl,
          SgdOptions{.learning_rate = spec.learning_rate, .weight_decay = spec.weight_decay});
    case OptimizerKind::kLion:
      return std::make_unique<Lion>(std::move(parameters), spec.optimizer_impl,
                                    LionOptions{.learning_rate = spec.learning_rate,
                                                .weight_decay = spec.weight_decay,
                                                .compiled = compiled("lion")});
    case OptimizerKind::kAdamMini:
      return std::make_unique<AdamMini>(std::move(parameters), of.names,
                                        AdamMiniOptions{.learning_rate = spec.learning_rate,
                                                        .weight_decay = spec.weight_decay,
                                                        .head_dim = model_config(spec).head_dim(),
                                                        .compiled = compiled("adam_mini")});
    case OptimizerKind::kMuon:
      return std::make_unique<Muon>(
          std::move(parameters), of.names,
          MuonOptions{.learning_rate = spec.learning_rate, .weight_decay = spec.weight_decay});
    case OptimizerKind::kAdam8bit:
      return std::make_unique<Adam8bit>(
          std::move(parameters),
          Adam8bitOptions{
              .learning_rate = spec.learning_rate,
              .weight_decay = spec.weight_decay,
              .whole_numels = of.whole_numels,
              .compiled = compiled(device.is_cuda() ? "adam8bit" : "adam8bit_moments")});
  }
  TORCH_INTERNAL_ASSERT(false, "no optimizer of this kind");
}

}  // namespace headroom
