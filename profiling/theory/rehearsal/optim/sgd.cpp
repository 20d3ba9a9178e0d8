#include "profiling/theory/rehearsal/optim/optimizer.h"

namespace headroom {
namespace {

// Like train/optim/sgd.cpp: in place whatever --optimizer-impl says.
class RehearsedSgd : public RehearsedOptimizer {
 public:
  using RehearsedOptimizer::RehearsedOptimizer;

  std::vector<ShapeTensor*> state() override { return pointers_to({&momentum_}); }

 private:
  void update() override {
    if (!momentum_.empty()) return;
    for (const Parameter* parameter : parameters_) {
      momentum_.push_back(zeros_like(parameter->value));
    }
  }

  std::vector<ShapeTensor> momentum_;
};

}  // namespace

RehearsedOptimizerPtr rehearse_sgd(std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedSgd>(std::move(parameters));
}

}  // namespace headroom
