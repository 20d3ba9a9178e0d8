// Named stretches of a step, told to whoever listens. No torch header.
//
// Note [Phases belong to the workload]
// Rationale: training runs forward, loss, backward and optimizer once each; accumulation runs some
//   of them many times, inference one, PPO generation and scoring besides. A list of names that
//   profiling knows would be wrong for the next workload.
// Approach: whoever runs a phase opens a scope and says what kind of phase it is. The kind says
//   what the phase does to the graph of autograd, and that is all that is asked of it; its name is
//   for people. A scope shows as a record_function range to any profiler of libtorch, too.
// Limits: phases may nest, each byte belongs to the innermost; scopes open and close one at a time,
//   so those of autograd's threads only while the step waits for them.
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
  kBackward,   // a phase that uses the graph up; what is recomputed in it is saved for nobody
  kBlock,      // one block of the model, inside any phase
  kRecompute,  // what is computed again inside a backward; ends when all that it needs is there
};

struct Scope {
  ScopeKind kind = ScopeKind::kPhase;
  std::string name;
  int64_t index = -1;  // of a block, counted from 0 at the input

  static Scope block(int64_t index) { return {ScopeKind::kBlock, "block", index}; }
  bool is_phase() const { return kind != ScopeKind::kBlock && kind != ScopeKind::kRecompute; }
  std::string text() const { return index < 0 ? name : name + " " + std::to_string(index); }
};

class ScopeListener {
 public:
  virtual ~ScopeListener() = default;
  virtual void on_scope(const Scope& scope, bool begins) = 0;
};

// The stretch from here to the end of the C++ scope. Nobody listens where `listener` is null.
class StepScope {
 public:
  StepScope(ScopeListener* listener, Scope scope);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  ScopeListener* listener_;
  Scope scope_;
  std::unique_ptr<at::RecordFunction> range_;  // null where no profiler of libtorch runs
};

}  // namespace headroom
