// What the measured steps of a generation did, and how long the prefill and the decode of each
// took.
#pragma once

#include <torch/types.h>

#include <chrono>

#include "profiling/record/record.h"
#include "train/listeners/scope.h"

namespace headroom {

// Waits for the device where a phase begins and ends, and takes no times of a virtual one. Passes
// on what it hears.
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
