#include "profiling/phases.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace headroom {
namespace {

MemoryBytes highest(const MemoryBytes& a, const MemoryBytes& b) {
  return {std::max(a.allocated, b.allocated), std::max(a.reserved, b.reserved),
          std::max(a.requested, b.requested)};
}

}  // namespace

PhasePeaks::PhasePeaks(std::vector<MemoryTracker*> memories)
    : memories_(std::move(memories)), peaks_(memories_.size()) {
  for (MemoryTracker* memory : memories_) memory->reset_peak();
}

void PhasePeaks::on_scope(const Scope& scope, bool begins) {
  if (!scope.is_phase()) return;
  for (size_t i = 0; i < memories_.size(); ++i) {
    const MemoryBytes peak = memories_[i]->peak();
    Peaks& peaks = peaks_[i];
    peaks.overall = highest(peaks.overall, peak);
    for (const std::string& name : open_) peaks.phases[name] = highest(peaks.phases[name], peak);
    if (begins) memories_[i]->reset_peak();
  }
  if (!begins) {
    const auto ended = std::find(open_.rbegin(), open_.rend(), scope.name);
    if (ended != open_.rend()) open_.erase(std::next(ended).base());
    return;
  }
  open_.push_back(scope.name);
  if (++runs_[scope.name] == 1) order_.push_back(scope.name);
}

void PhasePeaks::fill_phases(Record& record) const {
  record.phases = phases(0);
  record.phase_order = order();
  record.phase_runs = runs();
}

void FailedPhase::on_scope(const Scope& scope, bool begins) {
  // The innermost phase ends first.
  const bool unwinds = !begins && std::uncaught_exceptions() > 0;
  if (unwinds && scope.is_phase() && name_.empty()) name_ = scope.name;
  if (next_ != nullptr) next_->on_scope(scope, begins);
}

MemoryBytes PhasePeaks::overall(size_t memory) const {
  return highest(peaks_[memory].overall, memories_[memory]->peak());
}

}  // namespace headroom
