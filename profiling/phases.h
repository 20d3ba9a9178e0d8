// Listens to the named scopes of a step: peak memory per phase, and marks in a recording.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profiling/tracker/memory_tracker.h"

namespace headroom {

// Hears every RECORD_USER_SCOPE of the process while alive. At most one at a time.
class ScopeListener {
 public:
  using Callback = std::function<void(const std::string& name, bool is_start)>;
  explicit ScopeListener(Callback callback);
  ~ScopeListener();
  ScopeListener(const ScopeListener&) = delete;
  ScopeListener& operator=(const ScopeListener&) = delete;

 private:
  uint64_t handle_;
};

// Peak of the phases of train/step over the steps it lives through. Costs four counter resets a
// step.
class PhasePeaks {
 public:
  explicit PhasePeaks(MemoryTracker& tracker);

  // Highest of each over everything since construction, between the phases included.
  MemoryBytes overall() const;
  const std::map<std::string, MemoryBytes>& phases() const { return phases_; }
  const std::vector<std::string>& order() const { return order_; }

 private:
  void on_scope(const std::string& name, bool is_start);

  MemoryTracker& tracker_;
  MemoryBytes overall_;
  std::map<std::string, MemoryBytes> phases_;
  std::vector<std::string> order_;
  ScopeListener listener_;
};

// While alive, allocations made by casting one of `parameters` (autocast) carry
// Hint::kCastOfParameter. Looks at every operation, so only for recorded steps.
class CastListener {
 public:
  CastListener(MemoryTracker& tracker, const std::vector<torch::Tensor>& parameters);
  ~CastListener();
  CastListener(const CastListener&) = delete;
  CastListener& operator=(const CastListener&) = delete;

 private:
  uint64_t handle_;
};

}  // namespace headroom
