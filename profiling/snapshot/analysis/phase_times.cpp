#include "profiling/snapshot/analysis/phase_times.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headroom {
namespace {

// "block 3" as "block": all blocks share one row.
std::string without_number(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != std::string::npos && end + 1 < name.size() && name[end] == ' ';
  return numbered ? name.substr(0, end) : name;
}

}  // namespace

PhaseTimes::PhaseTimes(const std::vector<Annotation>& annotations, int64_t device) {
  std::vector<std::pair<int64_t, const Annotation*>> changes;
  for (const Annotation& annotation : annotations) {
    if (annotation.device >= 0 && annotation.device != device) continue;
    // An allocation in the microsecond in which a phase ends still belongs to it.
    const bool stays_open = !annotation.is_start && annotation.time_us < INT64_MAX;
    changes.emplace_back(annotation.time_us + (stays_open ? 1 : 0), &annotation);
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> open;
  for (const auto& [time_us, annotation] : changes) {
    if (annotation->is_start) {
      open.push_back(annotation->name);
    } else {
      const auto last = std::find(open.rbegin(), open.rend(), annotation->name);
      if (last != open.rend()) open.erase(std::next(last).base());
    }
    innermost_[time_us] = open.empty() ? "" : without_number(open.back());
  }
}

std::string PhaseTimes::at(int64_t time_us) const {
  const auto after = innermost_.upper_bound(time_us);
  return after == innermost_.begin() ? "" : std::prev(after)->second;
}

}  // namespace headroom
