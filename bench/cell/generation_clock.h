// The token counts of a generation's measured steps, and the times of their prefills and decodes.
#pragma once

#include <torch/types.h>

#include <chrono>

#include "profiling/record/record.h"
#include "train/hooks/scope.h"

namespace headroom {

// Synchronizes the device where a phase begins and ends; takes no times on a virtual one. Forwards
// every scope to `next`.
class GenerationClock final : public ScopeListener {
 public:
  GenerationClock(const RunSpec& spec, torch::Device device, ScopeListener* next);

  void on_scope(const Scope& scope, bool begins) override;
  void begin_step();  // a phase may run more than once in a step
  const GenerationFigures& figures() const { return figures_; }

 private:
  torch::Device device_;
  ScopeListener* next_;
  std::chrono::steady_clock::time_point began_ = {};
  GenerationFigures figures_;
};

}  // namespace headroom
