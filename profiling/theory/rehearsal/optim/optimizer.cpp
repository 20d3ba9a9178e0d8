#include "profiling/theory/rehearsal/optim/optimizer.h"

#include <stdexcept>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {

void RehearsedOptimizer::step() {
  const GradMode no_grad(run_, false);
  run_.memory.group = kOptimizerTemporaries;
  update();
}

ShapeTensor RehearsedOptimizer::zeros(const Dims& sizes, DType dtype) {
  const char* group = std::exchange(run_.memory.group, kOptimizerState);
  run_.memory.site.operation = "zeros";
  ShapeTensor made = empty(run_, sizes, dtype);
  run_.memory.group = group;
  return made;
}

ShapeTensor RehearsedOptimizer::zeros_like(const ShapeTensor& tensor) {
  const char* group = std::exchange(run_.memory.group, kOptimizerState);
  run_.memory.site.operation = "zeros_like";
  ShapeTensor made = empty_like(tensor.detach(), tensor.dtype);
  run_.memory.group = group;
  return made;
}

ShapeTensor RehearsedOptimizer::widened(const ShapeTensor& tensor) {
  run_.memory.site.operation = "_to_copy";
  return to(tensor.detach(), DType::kFp32);
}

std::vector<ShapeTensor*> RehearsedOptimizer::pointers_to(
    std::initializer_list<std::vector<ShapeTensor>*> kinds) {
  std::vector<ShapeTensor*> all;
  for (std::vector<ShapeTensor>* kind : kinds) {
    for (ShapeTensor& tensor : *kind) all.push_back(&tensor);
  }
  return all;
}

RehearsedOptimizerPtr rehearse_optimizer(const RunSpec& spec, std::vector<Parameter*> parameters) {
  switch (spec.optimizer) {
    case OptimizerKind::kAdamw:
      return rehearse_adamw(spec, std::move(parameters));
    case OptimizerKind::kAdam8bit:
      return rehearse_adam8bit(std::move(parameters));
    case OptimizerKind::kSgd:
      return rehearse_sgd(std::move(parameters));
    case OptimizerKind::kLion:
      return rehearse_lion(spec, std::move(parameters));
    case OptimizerKind::kAdamMini:
      return rehearse_adam_mini(spec, std::move(parameters));
    default:  // refused before: flags_not_followed()
      throw std::logic_error("no rehearsal follows " + to_string(spec.optimizer));
  }
}

RehearsedOptimizerPtr rehearse_updates(const RunSpec& spec, std::vector<Parameter*> parameters) {
  if (spec.master_weights == MasterCopy::kFp32) {
    return rehearse_master_weights(spec, std::move(parameters));
  }
  if (spec.rounding == Rounding::kStochastic) {
    return rehearse_stochastic_rounding(spec, std::move(parameters));
  }
  return rehearse_optimizer(spec, std::move(parameters));
}

}  // namespace headroom
