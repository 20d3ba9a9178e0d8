#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like train/techniques/stochastic_rounding.cpp.
class RehearsedStochasticRounding : public RehearsedOptimizer {
 public:
  RehearsedStochasticRounding(const RunSpec& spec, std::vector<Parameter*> parameters)
      : RehearsedOptimizer(std::move(parameters)), parts_(parameters_.size()) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].weight.name = parameters_[i]->name;
      parts_[i].weight.whole_elements = parameters_[i]->whole_elements;
      parts_[i].weight.value = parameters_[i]->value.detach();
      parts_[i].optimizer = rehearse_optimizer(spec, {&parts_[i].weight});
    }
  }

  std::vector<ShapeTensor*> state() override { return states_of(parts_); }

 private:
  struct Part {
    Parameter weight;
    RehearsedOptimizerPtr optimizer;
    std::vector<ShapeTensor> kept;  // not defined where the state stays as the optimizer has it
  };

  void update() override {
    for (size_t i = 0; i < parts_.size(); ++i) update(*parameters_[i], parts_[i]);
  }
  void update(const Parameter& parameter, Part& part);
  void round_state(const Parameter& parameter, Part& part);

  std::vector<Part> parts_;
};

ShapeTensor round_stochastically(const ShapeTensor& fp32) {
  const auto make = [&](const char* operation, DType dtype) {
    fp32.run->memory.site.operation = operation;
    return empty_like(fp32, dtype);
  };
  const ShapeTensor bits = make("randint", DType::kInt32);
  ShapeTensor finite;
  {  // (self == self) * (self.abs() != infinity)
    const ShapeTensor magnitude = make("abs", DType::kFp32);
    const ShapeTensor not_infinite = make("ne", DType::kBool);
    const ShapeTensor not_nan = make("eq", DType::kBool);
    finite = make("mul", DType::kBool);
  }
  const ShapeTensor chosen = make("where", DType::kFp32);
  return make("_to_copy", DType::kBf16);
}

void RehearsedStochasticRounding::update(const Parameter& parameter, Part& part) {
  part.weight.value = widened(parameter.value);
  part.weight.gradient = widened(parameter.gradient);
  const std::vector<ShapeTensor*> state = part.optimizer->state();
  for (size_t k = 0; k < part.kept.size(); ++k) {
    if (part.kept[k].defined()) *state[k] = widened(part.kept[k]);
  }
  part.optimizer->step();
  part.weight.gradient = {};
  round_stochastically(part.weight.value);
  part.weight.value = parameter.value.detach();
  round_state(parameter, part);
}

void RehearsedStochasticRounding::round_state(const Parameter& parameter, Part& part) {
  const std::vector<ShapeTensor*> state = part.optimizer->state();
  part.kept.resize(state.size());
  for (size_t k = 0; k < state.size(); ++k) {
    const bool is_moment = state[k]->defined() && state[k]->dtype == DType::kFp32 &&
                           state[k]->sizes == parameter.value.sizes;
    if (!is_moment) continue;
    const ShapeTensor rounded = round_stochastically(*state[k]);
    if (!part.kept[k].defined()) {
      part.kept[k] = rounded;
      rounded.storage->belongs_to(kOptimizerState);
    }
    state[k]->storage->belongs_to(kOptimizerTemporaries);
    *state[k] = part.kept[k];
  }
}

}  // namespace

RehearsedOptimizerPtr rehearse_stochastic_rounding(const RunSpec& spec,
                                                   std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedStochasticRounding>(spec, std::move(parameters));
}

}  // namespace headroom
