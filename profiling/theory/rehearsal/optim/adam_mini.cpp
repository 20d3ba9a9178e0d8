#include "profiling/theory/rehearsal/operations/reduce.h"
#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/optim/partition.h"

namespace headroom {
namespace {

// Like train/optim/adam_mini.cpp.
class RehearsedAdamMini : public RehearsedOptimizer {
 public:
  RehearsedAdamMini(int64_t head_dim, std::vector<Parameter*> parameters)
      : RehearsedOptimizer(std::move(parameters)) {
    for (const Parameter* parameter : parameters_) {
      const Dims& sizes = parameter->value.sizes;
      blocks_.push_back(sizes[0] /
                        rows_per_block(parameter->name, {sizes.begin(), sizes.end()}, head_dim));
    }
  }

  std::vector<ShapeTensor*> state() override { return pointers_to({&m_, &v_}); }

 private:
  void update() override {
    if (m_.empty()) {
      for (size_t i = 0; i < parameters_.size(); ++i) {
        m_.push_back(zeros_like(parameters_[i]->value));
        v_.push_back(zeros({blocks_[i], 1}, m_.back().dtype));
      }
    }
    for (size_t i = 0; i < parameters_.size(); ++i) {
      run_.memory.site.operation = "linalg_vector_norm";
      const ShapeTensor& gradient = parameters_[i]->gradient;
      const ShapeTensor norm = empty(run_, {blocks_[i], 1}, gradient.dtype);
      meet_in_memory(run_, {.outputs = blocks_[i], .inputs = gradient.elements() / blocks_[i]});
      const ShapeTensor denominator = sqrt(v_[i]);
    }
  }

  std::vector<int64_t> blocks_;
  std::vector<ShapeTensor> m_, v_;
};

}  // namespace

RehearsedOptimizerPtr rehearse_adam_mini(const RunSpec& spec, std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedAdamMini>(model_config(spec).head_dim(), std::move(parameters));
}

}  // namespace headroom
