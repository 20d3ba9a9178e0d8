// Peak memory per phase, from the scopes of a step. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/tracker/memory_tracker.h"

namespace headroom {

// Peaks of every given memory. A phase that runs several times keeps its highest; a nested one
// counts for its outer phase too. Costs a few reads of the counters per phase.
class PhasePeaks final : public ScopeListener {
 public:
  explicit PhasePeaks(std::vector<MemoryTracker*> memories);

  void on_scope(const Scope& scope, bool begins) override;

  // The highest of each counter since construction, also between the phases.
  MemoryBytes overall(size_t memory) const;
  const std::map<std::string, MemoryBytes>& phases(size_t memory) const {
    return peaks_[memory].phases;
  }
  void fill_phases(Record& record) const;                               // of the first memory
  const std::vector<std::string>& order() const { return order_; }      // as they first began
  const std::map<std::string, int64_t>& runs() const { return runs_; }  // how often each began

 private:
  struct Peaks {
    MemoryBytes overall;
    std::map<std::string, MemoryBytes> phases;
  };

  std::vector<MemoryTracker*> memories_;
  std::vector<Peaks> peaks_;  // by memory
  std::vector<std::string> open_;
  std::vector<std::string> order_;
  std::map<std::string, int64_t> runs_;
};

// Stores the name of the phase in which a step failed: by the time an exception is caught, all
// phases have ended. Forwards every scope.
class FailedPhase final : public ScopeListener {
 public:
  explicit FailedPhase(std::string& name, ScopeListener* next = nullptr)
      : name_(name), next_(next) {}
  void on_scope(const Scope& scope, bool begins) override;

 private:
  std::string& name_;
  ScopeListener* next_;
};

}  // namespace headroom
