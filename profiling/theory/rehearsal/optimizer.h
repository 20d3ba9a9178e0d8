// The update with shapes for tensors. Read beside train/optim/. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/rehearsal/model.h"
#include "train/spec.h"

namespace headroom {

class RehearsedOptimizer {
 public:
  RehearsedOptimizer(Run& run, const RunSpec& spec, std::vector<Parameter*> parameters)
      : run_(run), spec_(spec), parameters_(std::move(parameters)) {}

  void step();

 private:
  void make_state();  // before the first update, where the implementation does
  void update_adamw_reference();
  void one_for_each(const char* operation);
  void update_lion_reference();

  Run& run_;
  RunSpec spec_;
  std::vector<Parameter*> parameters_;
  std::vector<ShapeTensor> m_, v_, steps_;
};

}  // namespace headroom
