// Named scopes of a step, reported to a listener. No torch header.
//
// Note [Phases belong to the workload]
// Rationale: training runs forward, loss, backward and optimizer once each; accumulation runs some
//   of them many times, inference one, PPO generation and scoring besides. A fixed list of names in
//   profiling would be wrong for the next workload.
// Approach: the code that runs a phase opens a scope with the kind of the phase. Profiling uses
//   only the kind: the effect of the phase on the autograd graph. The name is for display. A scope
//   is also a record_function range for libtorch's profilers.
// Limits: phases may nest, and each byte belongs to the innermost. Scopes open and close one at a
//   time, so autograd's threads may open them only while the step waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace at {
struct RecordFunction;
}

namespace headroom {

enum class ScopeKind {
  kPhase,      // keeps nothing for a backward: inference, generation, scoring, the optimizer
  kSaving,     // a phase that builds the graph: forward with gradients, loss
  kBackward,   // a phase that consumes the graph; recomputation inside it saves nothing for later
  kBlock,      // one block of the model, inside any phase
  kRecompute,  // recomputation inside a backward; ends when all that backward needs is there
};

struct Scope {
  ScopeKind kind = ScopeKind::kPhase;
  std::string name;
  int64_t index = -1;  // of a block, from 0 at the input

  static Scope block(int64_t index) { return {ScopeKind::kBlock, "block", index}; }
  bool is_phase() const { return kind != ScopeKind::kBlock && kind != ScopeKind::kRecompute; }
  std::string text() const { return index < 0 ? name : name + " " + std::to_string(index); }
};

class ScopeListener {
 public:
  virtual ~ScopeListener() = default;
  virtual void on_scope(const Scope& scope, bool begins) = 0;
};

// A scope from here to the end of the C++ scope. A null `listener` gets no reports.
class StepScope {
 public:
  StepScope(ScopeListener* listener, Scope scope);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  ScopeListener* listener_;
  Scope scope_;
  std::unique_ptr<at::RecordFunction> range_;  // null if no libtorch profiler runs
};

}  // namespace headroom
