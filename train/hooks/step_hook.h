// Callbacks for the moments of a step: techniques act in them.
//
// Note [Moments of a step]
// Rationale: if the step called each technique by name, every reader of the step would pay for one
//   more branch.
// Approach: the step announces its moments to the hooks that train/build.cpp lists: beginnings in
//   list order, ends in reverse order, as scopes nest.
// Limits: a hook must not change a number that another hook reads at the same moment.
#pragma once

#include <memory>
#include <vector>

namespace headroom {

struct Task;
class MemoryTags;
class ScopeListener;

// Every moment does nothing by default.
class StepHook {
 public:
  StepHook() = default;
  virtual ~StepHook() = default;
  StepHook(const StepHook&) = delete;
  StepHook& operator=(const StepHook&) = delete;

  // Sets the listeners of scopes and tags; null: none. Tags existing memory.
  virtual void listen(ScopeListener* /*scopes*/, MemoryTags* /*tags*/) {}
  // Runs first. The previous step may have failed midway.
  virtual void begin_step() {}
  virtual void begin_forward(const Task& /*task*/) {}
  virtual void end_forward(const Task& /*task*/) {}  // before the loss
  virtual void begin_backward(const Task& /*task*/) {}
  virtual void end_backward(const Task& /*task*/) {}
  // After the last backward and before the update. Throws c10::Error if a gradient is missing.
  virtual void gradients_ready() {}
  // Runs after the optimizer has updated the parameters.
  virtual void end_update() {}
};

// Passes each moment to a list of hooks.
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
