// The updates with shapes for tensors. Read beside train/optim/ and train/techniques/. No torch
// here.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/model.h"
#include "train/settings/spec.h"

namespace headroom {

class RehearsedOptimizer {
 public:
  explicit RehearsedOptimizer(std::vector<Parameter*> parameters)
      : parameters_(std::move(parameters)), run_(*parameters_.front()->value.run) {}
  virtual ~RehearsedOptimizer() = default;
  RehearsedOptimizer(const RehearsedOptimizer&) = delete;
  RehearsedOptimizer& operator=(const RehearsedOptimizer&) = delete;

  void step();

  // Like Optimizer::state(), which others may put into another type; none before the first step.
  virtual std::vector<ShapeTensor*> state() = 0;
  virtual std::vector<ShapeTensor*> master_weights() { return {}; }

 protected:
  virtual void update() = 0;

  // Names itself and is state.
  ShapeTensor zeros(const Dims& sizes, DType dtype);
  ShapeTensor zeros_like(const ShapeTensor& tensor);  // likewise
  ShapeTensor widened(const ShapeTensor& tensor);     // in FP32; names itself

  // One kind after another.
  static std::vector<ShapeTensor*> pointers_to(
      std::initializer_list<std::vector<ShapeTensor>*> kinds);
  // The states of the optimizers of parts, one after another.
  template <typename Part>
  static std::vector<ShapeTensor*> states_of(const std::vector<Part>& parts) {
    std::vector<ShapeTensor*> all;
    for (const Part& part : parts) {
      for (ShapeTensor* tensor : part.optimizer->state()) all.push_back(tensor);
    }
    return all;
  }

  std::vector<Parameter*> parameters_;
  Run& run_;
};

using RehearsedOptimizerPtr = std::unique_ptr<RehearsedOptimizer>;

// Like make_optimizer().
RehearsedOptimizerPtr rehearse_optimizer(const RunSpec& spec, std::vector<Parameter*> parameters);

// The optimizer and what stands between it and BF16 weights: as make_updates() in train/build.cpp.
RehearsedOptimizerPtr rehearse_updates(const RunSpec& spec, std::vector<Parameter*> parameters);

// One file each.
RehearsedOptimizerPtr rehearse_adamw(const RunSpec& spec, std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_adam8bit(std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_adam_mini(const RunSpec& spec, std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_lion(const RunSpec& spec, std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_sgd(std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_master_weights(const RunSpec& spec,
                                              std::vector<Parameter*> parameters);
RehearsedOptimizerPtr rehearse_stochastic_rounding(const RunSpec& spec,
                                                   std::vector<Parameter*> parameters);

}  // namespace headroom
