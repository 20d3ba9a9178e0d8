#include "profiling/saving.h"

#include <algorithm>
#include <limits>

namespace headroom {
namespace {

constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();

class Reader {
 public:
  Saving read(const std::vector<Mark>& marks) {
    for (const Mark& mark : marks) {
      if (mark.scope.kind == ScopeKind::kRecompute) {
        on_recomputation(mark);
      } else if (!mark.scope.is_phase()) {
        on_block(mark);
      } else if (mark.begins) {
        on_phase_begin(mark);
      } else if (!open_.empty()) {
        on_phase_end(mark);
      }
    }
    for (auto& [run, span] : runs_) {
      run.cut = spans_[span].span.cut;
      saving_.blocks.push_back(run);
    }
    for (const Building& building : spans_) {
      if (building.span.begin < building.span.end) saving_.spans.push_back(building.span);
    }
    return std::move(saving_);
  }

 private:
  struct OpenPhase {
    ScopeKind kind;
    size_t first_span;  // spans made while the phase was open begin here
  };
  struct Building {
    SavingSpan span;
    bool waits = true;  // for a backward
  };
  struct OpenBlock {
    BlockRun run;
    size_t span;
    bool saves;
  };

  bool in_backward() const {
    return std::any_of(open_.begin(), open_.end(),
                       [](const OpenPhase& phase) { return phase.kind == ScopeKind::kBackward; });
  }
  bool saves() const {
    return !open_.empty() && open_.back().kind == ScopeKind::kSaving && !in_backward();
  }

  void pause(int64_t now) {
    if (saves()) spans_.back().span.end = now;
  }
  void resume(int64_t now) {
    if (saves()) spans_.push_back({{now, kOpen, kOpen}});
  }

  void on_phase_begin(const Mark& mark) {
    pause(mark.event_index);
    if (mark.scope.kind == ScopeKind::kBackward && !in_backward()) {
      for (Building& building : spans_) {
        if (building.waits)
          building = {{building.span.begin, building.span.end, mark.event_index}, false};
      }
    }
    open_.push_back({mark.scope.kind, spans_.size()});
    resume(mark.event_index);
  }

  void on_phase_end(const Mark& mark) {
    pause(mark.event_index);
    const OpenPhase ended = open_.back();
    open_.pop_back();
    if (ended.kind == ScopeKind::kSaving) {
      for (size_t i = ended.first_span; i < spans_.size(); ++i) {
        if (spans_[i].waits) spans_[i].span.cut = mark.event_index;
      }
    }
    resume(mark.event_index);
  }

  void on_block(const Mark& mark) {
    if (mark.begins) {
      open_blocks_.push_back({{mark.scope.index, mark.event_index}, spans_.size() - 1, saves()});
      return;
    }
    if (open_blocks_.empty()) return;
    OpenBlock ended = open_blocks_.back();
    open_blocks_.pop_back();
    if (!ended.saves) return;
    ended.run.end = mark.event_index;
    runs_.emplace_back(ended.run, ended.span);
  }

  // They do not nest: a checkpoint that another one needs is recomputed before that one begins.
  void on_recomputation(const Mark& mark) {
    if (mark.begins) {
      saving_.recomputations.push_back({mark.event_index, kOpen});
    } else if (!saving_.recomputations.empty()) {
      saving_.recomputations.back().end = mark.event_index;
    }
  }

  std::vector<OpenPhase> open_;
  std::vector<OpenBlock> open_blocks_;
  std::vector<Building> spans_;
  std::vector<std::pair<BlockRun, size_t>> runs_;  // each with its span's index
  Saving saving_;
};

}  // namespace

const SavingSpan* Saving::span_of(int64_t index) const {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), index,
                       [](int64_t event, const SavingSpan& span) { return event < span.begin; });
  if (after == spans.begin()) return nullptr;
  const SavingSpan& span = *std::prev(after);
  return index < span.end ? &span : nullptr;
}

Saving saving_of(const std::vector<Mark>& marks) { return Reader().read(marks); }

}  // namespace headroom
