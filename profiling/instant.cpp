#include "profiling/instant.h"

#include <algorithm>

#include "profiling/phase_breakdown.h"

namespace headroom {
namespace {

// The event index at which the innermost phase around `event` began.
int64_t phase_begin(const Recording& recording, int64_t event) {
  std::vector<int64_t> open = {0};
  for (const Mark& mark : recording.marks) {
    if (!mark.scope.is_phase()) continue;
    if (mark.begins && mark.event_index <= event) open.push_back(mark.event_index);
    if (!mark.begins && mark.event_index < event && open.size() > 1) open.pop_back();
  }
  return open.back();
}

}  // namespace

InstantBreakdown breakdown_at(const Recording& recording, const std::vector<Owned>& owned,
                              const std::vector<std::string>& roles, int64_t event) {
  InstantBreakdown found;
  std::map<std::string, int64_t> grown;
  const int64_t begin = phase_begin(recording, event);
  for (const Lifetime& lifetime : lifetimes_of(recording, owned)) {
    if (!lifetime.live_after(event)) continue;
    const std::string component = component_of(lifetime, roles);
    found.live[component] += lifetime.size;
    if (lifetime.allocated >= begin) grown[component] += lifetime.size;
  }
  const auto most = std::max_element(
      grown.begin(), grown.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != grown.end()) found.grew = most->first;
  return found;
}

}  // namespace headroom
