#include "profiling/theory/rehearsal/optimizer.h"

#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// zeros_like(), which names itself.
ShapeTensor zeros_like(const ShapeTensor& tensor) {
  tensor.run->memory.place.operation = "zeros_like";
  return empty_like(tensor.detach(), tensor.dtype);
}

}  // namespace

void RehearsedOptimizer::step() {
  const GradMode no_grad(run_, false);
  const bool adamw = spec_.optimizer == OptimizerKind::kAdamw;
  const bool lion = spec_.optimizer == OptimizerKind::kLion;
  if (adamw && spec_.optimizer_impl == OptimizerImpl::kReference) return update_adamw_reference();
  if (m_.empty()) make_state();
  if (spec_.optimizer_impl == OptimizerImpl::kForeach && (adamw || lion)) {
    one_for_each(adamw ? "_foreach_sqrt" : "_foreach_lerp");
  }
  if (spec_.optimizer_impl == OptimizerImpl::kReference && lion) update_lion_reference();
}

void RehearsedOptimizer::make_state() {
  const OptimizerInfo& info = info_of(spec_.optimizer);
  run_.memory.group = kOptimizerState;
  for (const Parameter* parameter : parameters_) {
    for (const OptimizerState& state : info.state) {
      if (state.only && *state.only != spec_.optimizer_impl) continue;
      m_.push_back(state.form == StateForm::kScalar ? empty(run_, {}, DType::kFp32)
                                                    : zeros_like(parameter->value));
    }
  }
}

// As update_reference() in train/optim/adamw.cpp, statement by statement.
void RehearsedOptimizer::update_adamw_reference() {
  run_.memory.group = kOptimizerTemporaries;
  m_.resize(parameters_.size());
  v_.resize(parameters_.size());
  const auto previous = [](const ShapeTensor& moment, const ShapeTensor& gradient) {
    const ShapeTensor zeros = zeros_like(gradient);
    return moment.defined() ? moment : zeros;
  };
  ShapeTensor previous_m;
  ShapeTensor previous_v;
  ShapeTensor m;
  ShapeTensor v;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const ShapeTensor& p = parameters_[i]->value;
    const ShapeTensor& g = parameters_[i]->gradient;
    mul_scalar(p);
    previous_m = previous(m_[i], g);
    previous_v = previous(v_[i], g);
    {
      const ShapeTensor grown = mul_scalar(g);
      const ShapeTensor decayed = mul_scalar(previous_m);
      m = add(decayed, grown);
    }
    ShapeTensor decayed = mul_scalar(previous_v);
    ShapeTensor squared = pow(g);
    squared = mul_scalar(squared);
    v = add(decayed, squared);
    decayed = {};
    squared = {};
    ShapeTensor update = mul_scalar(m);
    ShapeTensor denominator = sqrt(v);
    denominator = add_scalar(denominator);
    update = div(update, denominator);
    denominator = {};
    m_[i] = m;
    v_[i] = v;
    m.storage->belongs_to(kOptimizerState);
    v.storage->belongs_to(kOptimizerState);
  }
}

// AdamW's denominators, Lion's directions: one for every parameter, all at once.
void RehearsedOptimizer::one_for_each(const char* operation) {
  run_.memory.group = kOptimizerTemporaries;
  std::vector<ShapeTensor> made;
  run_.memory.place.operation = operation;
  for (const Parameter* parameter : parameters_) {
    made.push_back(empty_like(parameter->value.detach(), DType::kFp32));
  }
}

// One direction at a time.
void RehearsedOptimizer::update_lion_reference() {
  run_.memory.group = kOptimizerTemporaries;
  run_.memory.place.operation = "lerp";
  for (const Parameter* parameter : parameters_) {
    const ShapeTensor direction = empty_like(parameter->value.detach(), DType::kFp32);
  }
}

}  // namespace headroom
