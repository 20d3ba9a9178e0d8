// When something happens in a step: what a technique does at each moment.
//
// Note [Moments of a step]
// Rationale: a technique that the step called by its name would cost every reader of the step one
//   more branch.
// Approach: the step announces its moments to the hooks that train/build.cpp lists. What begins is
//   announced in the order of the list, what ends in the reverse order, as scopes nest.
// Limits: a hook changes no number that another one reads at the same moment.
#pragma once

#include <memory>
#include <vector>

namespace headroom {

struct Task;
class MemoryTags;
class ScopeListener;

// Every moment does nothing unless a technique says otherwise.
class StepHook {
 public:
  StepHook() = default;
  virtual ~StepHook() = default;
  StepHook(const StepHook&) = delete;
  StepHook& operator=(const StepHook&) = delete;

  // From now on these hear scopes and tags; null: nobody. Tags the memory that is there.
  virtual void listen(ScopeListener* /*scopes*/, MemoryTags* /*tags*/) {}
  // Before everything else. The step before may have failed in the middle.
  virtual void begin_step() {}
  virtual void begin_forward(const Task& /*task*/) {}
  virtual void end_forward(const Task& /*task*/) {}  // before the loss
  virtual void begin_backward(const Task& /*task*/) {}
  virtual void end_backward(const Task& /*task*/) {}
  // After the last backward and before the update. Throws c10::Error where a gradient is missing.
  virtual void gradients_ready() {}
  // The optimizer has updated the parameters.
  virtual void end_update() {}
};

// The hooks of a step, as one.
class StepHooks final : public StepHook {
 public:
  // Null adds nothing.
  void add(std::shared_ptr<StepHook> hook) {
    if (hook) hooks_.push_back(std::move(hook));
  }

  void listen(ScopeListener* scopes, MemoryTags* tags) override {
    for (const auto& hook : hooks_) hook->listen(scopes, tags);
  }
  void begin_step() override {
    for (const auto& hook : hooks_) hook->begin_step();
  }
  void begin_forward(const Task& task) override {
    for (const auto& hook : hooks_) hook->begin_forward(task);
  }
  void end_forward(const Task& task) override {
    for (auto hook = hooks_.rbegin(); hook != hooks_.rend(); ++hook) (*hook)->end_forward(task);
  }
  void begin_backward(const Task& task) override {
    for (const auto& hook : hooks_) hook->begin_backward(task);
  }
  void end_backward(const Task& task) override {
    for (auto hook = hooks_.rbegin(); hook != hooks_.rend(); ++hook) (*hook)->end_backward(task);
  }
  void gradients_ready() override {
    for (const auto& hook : hooks_) hook->gradients_ready();
  }
  void end_update() override {
    for (auto hook = hooks_.rbegin(); hook != hooks_.rend(); ++hook) (*hook)->end_update();
  }

 private:
  std::vector<std::shared_ptr<StepHook>> hooks_;
};

}  // namespace headroom
