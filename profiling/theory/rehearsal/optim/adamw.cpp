#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Statement by statement as train/optim/adamw.cpp.
class RehearsedAdamw : public RehearsedOptimizer {
 public:
  RehearsedAdamw(OptimizerImpl impl, std::vector<Parameter*> parameters)
      : RehearsedOptimizer(std::move(parameters)), impl_(impl) {}

  std::vector<ShapeTensor*> state() override { return pointers_to({&m_, &v_, &steps_}); }

 private:
  void update() override;
  void update_reference();
  ShapeTensor previous(const ShapeTensor& moment, const ShapeTensor& gradient);

  OptimizerImpl impl_;
  std::vector<ShapeTensor> m_, v_, steps_;
};

void RehearsedAdamw::update() {
  if (impl_ == OptimizerImpl::kReference) {
    m_.resize(parameters_.size());
    v_.resize(parameters_.size());
    return update_reference();
  }
  if (m_.empty()) {
    for (const Parameter* parameter : parameters_) {
      m_.push_back(zeros_like(parameter->value));
      v_.push_back(zeros_like(parameter->value));
      if (impl_ == OptimizerImpl::kFused) steps_.push_back(zeros({}, DType::kFp32));
    }
  }
  if (impl_ == OptimizerImpl::kFused) return;
  run_.memory.site.operation = "_foreach_sqrt";
  std::vector<ShapeTensor> denominators;
  for (const ShapeTensor& v : v_) denominators.push_back(empty_like(v, v.dtype));
}

// Zeros that die where there is a moment.
ShapeTensor RehearsedAdamw::previous(const ShapeTensor& moment, const ShapeTensor& gradient) {
  run_.memory.site.operation = "zeros_like";
  const ShapeTensor zeros = empty_like(gradient.detach(), gradient.dtype);
  return moment.defined() ? moment : zeros;
}

void RehearsedAdamw::update_reference() {
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

}  // namespace

RehearsedOptimizerPtr rehearse_adamw(const RunSpec& spec, std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedAdamw>(spec.optimizer_impl, std::move(parameters));
}

}  // namespace headroom
