#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like train/optim/lion.cpp.
class RehearsedLion : public RehearsedOptimizer {
 public:
  RehearsedLion(OptimizerImpl impl, std::vector<Parameter*> parameters)
      : RehearsedOptimizer(std::move(parameters)), impl_(impl) {}

  std::vector<ShapeTensor*> state() override { return pointers_to({&m_}); }

 private:
  // Directions: one at a time, or all at once.
  void update() override {
    if (m_.empty()) {
      for (const Parameter* parameter : parameters_) m_.push_back(zeros_like(parameter->value));
    }
    const bool at_once = impl_ == OptimizerImpl::kForeach;
    run_.memory.site.operation = at_once ? "_foreach_lerp" : "lerp";
    std::vector<ShapeTensor> directions;
    for (const ShapeTensor& m : m_) {
      if (!at_once) directions.clear();
      directions.push_back(empty_like(m, m.dtype));
    }
  }

  OptimizerImpl impl_;
  std::vector<ShapeTensor> m_;
};

}  // namespace

RehearsedOptimizerPtr rehearse_lion(const RunSpec& spec, std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedLion>(spec.optimizer_impl, std::move(parameters));
}

}  // namespace headroom
