#include "profiling/phase_breakdown.h"

#include <algorithm>

namespace headroom {

std::string component_of(const Lifetime& lifetime, const std::vector<std::string>& roles) {
  const std::string category = to_string(lifetime.category);
  const std::string role = lifetime.name.substr(0, lifetime.name.find('.'));
  const bool has_role = role.size() < lifetime.name.size() &&
                        std::find(roles.begin(), roles.end(), role) != roles.end();
  return has_role ? role + " " + category : category;
}

namespace {

// Numbers the components, so that a state is a row of figures.
struct Components {
  std::vector<std::string> names;
  size_t number_of(const std::string& name) {
    const auto known = std::find(names.begin(), names.end(), name);
    if (known != names.end()) return static_cast<size_t>(known - names.begin());
    names.push_back(name);
    return names.size() - 1;
  }
};

struct Change {
  int64_t index = 0;  // of the event; kBefore = live before the first
  int64_t bytes = 0;
  size_t component = 0;
};

std::vector<Change> changes_of(const std::vector<Lifetime>& lifetimes,
                               const std::vector<std::string>& roles, Components& components) {
  std::vector<Change> changes;
  for (const Lifetime& lifetime : lifetimes) {
    const size_t component = components.number_of(component_of(lifetime, roles));
    changes.push_back({lifetime.allocated, lifetime.size, component});
    if (lifetime.freed != Lifetime::kNever) {
      changes.push_back({lifetime.freed, -lifetime.size, component});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.index < b.index; });
  return changes;
}

// One run of an outermost phase: events [begin, end).
struct SequenceSpan {
  std::string phase;
  int64_t begin = 0;
  int64_t end = 0;
};

std::vector<SequenceSpan> outermost_phases(const Recording& recording) {
  std::vector<SequenceSpan> found;
  int64_t depth = 0;
  for (const Mark& mark : recording.marks) {
    if (!mark.scope.is_phase()) continue;
    if (mark.begins && depth++ == 0) {
      const auto last = static_cast<int64_t>(recording.events.size());
      found.push_back({mark.scope.name, mark.event_index, last});
    } else if (!mark.begins && --depth == 0) {
      found.back().end = mark.event_index;
    }
  }
  return found;
}

struct Instant {
  int64_t bytes = 0;
  std::vector<int64_t> live;  // by component
};

// The live bytes through time.
class Walk {
 public:
  Walk(std::vector<Change> changes, size_t components)
      : changes_(std::move(changes)), live_(components, 0) {}

  // Applies all changes before event `index`.
  void go_to(int64_t index) {
    while (next_ < changes_.size() && changes_[next_].index < index) apply();
  }
  // The fullest instant from now, inclusive, to before event `end`.
  Instant fullest_until(int64_t end) {
    Instant fullest = {bytes_, live_};
    while (next_ < changes_.size() && changes_[next_].index < end) {
      apply();
      if (bytes_ > fullest.bytes) fullest = {bytes_, live_};
    }
    return fullest;
  }

 private:
  void apply() {
    const Change& change = changes_[next_++];
    bytes_ += change.bytes;
    live_[change.component] += change.bytes;
  }

  std::vector<Change> changes_;
  std::vector<int64_t> live_;
  int64_t bytes_ = 0;
  size_t next_ = 0;
};

// One run of a phase. `walk` stands before it, and afterwards at its end.
PhaseComponents breakdown_of_run(const SequenceSpan& stretch, Walk& walk,
                                 const std::vector<std::string>& names) {
  PhaseComponents run{.phase = stretch.phase};
  walk.go_to(stretch.begin);
  std::vector<Instant> instants;
  for (int64_t i = 0; i < kInstants; ++i) {
    const int64_t events = stretch.end - stretch.begin;
    instants.push_back(walk.fullest_until(stretch.begin + events * (i + 1) / kInstants));
  }
  const Instant& fullest =
      *std::max_element(instants.begin(), instants.end(),
                        [](const Instant& a, const Instant& b) { return a.bytes < b.bytes; });
  run.requested = fullest.bytes;
  for (size_t component = 0; component < names.size(); ++component) {
    if (fullest.live[component] != 0) run.components[names[component]] = fullest.live[component];
    std::vector<int64_t> over_time;
    for (const Instant& instant : instants) over_time.push_back(instant.live[component]);
    const bool was_there =
        std::any_of(over_time.begin(), over_time.end(), [](int64_t bytes) { return bytes != 0; });
    if (was_there) run.instants[names[component]] = std::move(over_time);
  }
  return run;
}

PhaseComponents& breakdown_of(const std::string& phase, std::vector<PhaseComponents>& found) {
  const auto known = std::find_if(found.begin(), found.end(),
                                  [&](const PhaseComponents& one) { return one.phase == phase; });
  return known == found.end() ? found.emplace_back(PhaseComponents{.phase = phase}) : *known;
}

}  // namespace

std::vector<PhaseComponents> phase_breakdowns(const Recording& recording,
                                              const std::vector<Owned>& owned,
                                              const std::vector<std::string>& roles) {
  Components components;
  std::vector<Change> changes = changes_of(lifetimes_of(recording, owned), roles, components);
  Walk walk(std::move(changes), components.names.size());
  std::vector<PhaseComponents> found;
  for (const SequenceSpan& stretch : outermost_phases(recording)) {
    PhaseComponents run = breakdown_of_run(stretch, walk, components.names);
    PhaseComponents& kept = breakdown_of(stretch.phase, found);
    if (run.requested >= kept.requested) kept = std::move(run);
  }
  return found;
}

}  // namespace headroom
