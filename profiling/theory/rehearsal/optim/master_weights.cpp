#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like train/techniques/master_weights.cpp.
class RehearsedMasterWeights : public RehearsedOptimizer {
 public:
  RehearsedMasterWeights(const RunSpec& spec, std::vector<Parameter*> parameters)
      : RehearsedOptimizer(std::move(parameters)) {
    run_.memory.site = {.phase = "build"};
    run_.memory.group = kMasterWeights;
    masters_.resize(parameters_.size());
    for (size_t i = 0; i < masters_.size(); ++i) {
      masters_[i].name = parameters_[i]->name;
      masters_[i].whole_elements = parameters_[i]->whole_elements;
      masters_[i].value = widened(parameters_[i]->value);
    }
    const bool by_tensor = spec.optimizer_impl == OptimizerImpl::kReference;
    const size_t count = by_tensor ? 1 : masters_.size();
    for (size_t i = 0; i < masters_.size(); i += count) {
      Part& part = parts_.emplace_back(Part{i, i + count, nullptr});
      std::vector<Parameter*> masters;
      for (size_t k = part.begin; k < part.end; ++k) masters.push_back(&masters_[k]);
      part.optimizer = rehearse_optimizer(spec, std::move(masters));
    }
  }

  std::vector<ShapeTensor*> state() override { return states_of(parts_); }

  std::vector<ShapeTensor*> master_weights() override {
    std::vector<ShapeTensor*> all;
    for (Parameter& master : masters_) all.push_back(&master.value);
    return all;
  }

 private:
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    RehearsedOptimizerPtr optimizer;
  };

  void update() override {
    for (const Part& part : parts_) {
      for (size_t i = part.begin; i < part.end; ++i) {
        masters_[i].gradient = widened(parameters_[i]->gradient);
      }
      part.optimizer->step();
      for (size_t i = part.begin; i < part.end; ++i) masters_[i].gradient = {};
    }
  }

  std::vector<Parameter> masters_;
  std::vector<Part> parts_;
};

}  // namespace

RehearsedOptimizerPtr rehearse_master_weights(const RunSpec& spec,
                                              std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedMasterWeights>(spec, std::move(parameters));
}

}  // namespace headroom
