// Peak memory per phase, as a step tells its phases. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/tracker/memory_tracker.h"

namespace headroom {

// Of every memory given, over the steps that are listened to. A phase that runs more than once
// keeps the highest; one inside another counts for both. Costs a few reads of the counters a phase.
class PhasePeaks final : public ScopeListener {
 public:
  explicit PhasePeaks(std::vector<MemoryTracker*> memories);

  void on_scope(const Scope& scope, bool begins) override;

  // Highest of each over everything since construction, between the phases included.
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

// Writes down which phase a step failed in: by the time an exception is caught, it has closed all
// of them. Passes on what it hears.
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
