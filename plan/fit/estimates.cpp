#include "plan/fit/estimates.h"

#include <algorithm>
#include <limits>

#include "text/quantity.h"

namespace headroom {

int64_t Estimates::of(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                      const RunSpec& spec) {
  // Settings of the allocator change nothing that theory knows (plan/fit/need.h).
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  const auto [found, is_new] = known.try_emplace(row_name(plain), 0);
  if (!is_new) return found->second;
  try {
    found->second = ask(plain);
  } catch (const UsageError&) {  // a kernel that does not run, sums beyond 64 bits
    found->second = std::numeric_limits<int64_t>::max();
  }
  return found->second;
}

bool Estimates::fits(const RunSpec& spec) {
  if (floor(spec) > judge_.capacity) return false;
  const auto [found, is_new] = fits_.try_emplace(row_name(spec), false);
  if (is_new) found->second = judge_.fits(spec);
  return found->second;
}

size_t Estimates::smallest(const std::vector<TechniqueSet>& sets, std::vector<size_t> places) {
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return floor(sets[a].spec) < floor(sets[b].spec); });
  size_t best = places.front();
  for (const size_t place : places) {
    if (judge_.stopped() || floor(sets[place].spec) >= need(sets[best].spec)) break;
    if (need(sets[place].spec) < need(sets[best].spec)) best = place;
  }
  return best;
}

}  // namespace headroom
