// Steps with every allocation recorded, in each of their memories. No torch here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiling/attribution.h"
#include "profiling/phase_breakdown.h"
#include "profiling/phases.h"
#include "profiling/tracker/memory_tracker.h"

namespace headroom {

// Records a step (Step::listen) from construction to finish(). One at a time.
class StepRecording final : public ScopeListener, public MemoryTags {
 public:
  // Starts recording. `options` apply to the first memory; the others record no stacks.
  StepRecording(const Memories& memories, const RecordingOptions& options);

  void on_scope(const Scope& scope, bool begins) override;
  void tag(Category category, MemorySpace space, uint64_t address,
           const std::string& name) override;

  struct Result {
    MemoryBytes peak;
    Attribution attribution;
    int64_t events = 0;
    bool truncated = false;  // the snapshot lost the oldest events
    std::vector<PhaseComponents> phases;
    std::map<std::string, int64_t> live;  // at `instant`, of its memory only
    std::string grew;                     // at `instant`
  };
  // An instant for finish() to break down: profiling/instant.h.
  struct Instant {
    size_t memory = 0;
    int64_t event = 0;
  };
  Instant now(size_t memory) const;

  // Stops recording; one Result per memory. `snapshot` (may be null) is of the first memory. With
  // `roles`, the Results have the breakdown of each phase.
  std::vector<Result> finish(Snapshot* snapshot, const std::vector<std::string>& roles = {},
                             const std::optional<Instant>& instant = std::nullopt);

  const PhasePeaks& peaks() const { return peaks_; }

 private:
  const Memories& memories_;
  PhasePeaks peaks_;
  std::vector<std::vector<Owned>> owned_;  // by memory
};

}  // namespace headroom
