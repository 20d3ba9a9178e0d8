#include "plan/fit/questions/estimates.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <optional>

#include "bench/process/cores.h"
#include "plan/fit/answers/side_by_side.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// Allocator settings do not change floor, need and host (plan/fit/questions/need.h).
RunSpec plain(RunSpec spec) {
  spec.alloc_conf.clear();
  return spec;
}

// The optimizer's implementation does not change the floor: no floor has its temporaries, and its
// other memory is a few numbers per tensor.
RunSpec of_floor(const RunSpec& spec) {
  RunSpec with = plain(spec);
  with.optimizer_impl = OptimizerImpl::kReference;
  return with;
}

// INT64_MAX if the configuration cannot run or a sum overflows 64 bits.
int64_t asked(const std::function<int64_t(const RunSpec&)>& ask, const RunSpec& spec) {
  try {
    return ask(spec);
  } catch (const UsageError&) {
    return std::numeric_limits<int64_t>::max();
  }
}

}  // namespace

int64_t Estimates::of(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                      const RunSpec& spec) {
  const RunSpec of_it = plain(spec);
  const auto [found, is_new] = known.try_emplace(row_name(of_it), 0);
  if (is_new) found->second = asked(ask, of_it);
  return found->second;
}

int64_t Estimates::least(const RunSpec& spec) {
  return std::max(floor(spec), of(leasts_, oracle_.least, spec));
}

int64_t Estimates::floor(const RunSpec& spec) { return of(floors_, oracle_.floor, of_floor(spec)); }

bool Estimates::fits(const RunSpec& spec) { return fits_host(spec) && fits_card(spec); }

bool Estimates::fits_card(const RunSpec& spec) {
  const auto [found, is_new] = fits_.try_emplace(row_name(spec));
  Answer& answer = found->second;
  if (is_new) answer.fits = floor(spec) <= oracle_.capacity && oracle_.fits(spec);
  answer.is_wanted = true;
  return answer.fits;
}

bool Estimates::fits_host(const RunSpec& spec) {
  return !oracle_.host_limit || host(spec) <= *oracle_.host_limit;
}

size_t Estimates::ahead() { return cores() == 1 ? 1 : 8 * cores(); }

bool Estimates::knows(const RunSpec& spec) const { return fits_.count(row_name(spec)) > 0; }

bool Estimates::knows_least(const RunSpec& spec) const {
  return leasts_.count(row_name(plain(spec))) > 0;
}

void Estimates::learn_floors(const std::vector<RunSpec>& specs) {
  std::map<std::string, RunSpec> unknown;
  for (const RunSpec& spec : specs) {
    const RunSpec of_it = of_floor(spec);
    const std::string name = row_name(of_it);
    if (floors_.count(name) == 0) unknown.emplace(name, of_it);
  }
  learn(floors_, oracle_.floor, unknown);
}

void Estimates::learn_leasts(const std::vector<RunSpec>& specs) {
  std::map<std::string, RunSpec> unknown;
  for (const RunSpec& spec : specs) {
    const std::string name = row_name(plain(spec));
    if (leasts_.count(name) == 0) unknown.emplace(name, plain(spec));
  }
  learn(leasts_, oracle_.least, unknown);
}

void Estimates::learn(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                      const std::map<std::string, RunSpec>& unknown) {
  const std::vector<std::pair<std::string, RunSpec>> list(unknown.begin(), unknown.end());
  std::vector<int64_t> answers(list.size());
  side_by_side(list.size(), [&](size_t place) { answers[place] = asked(ask, list[place].second); });
  for (size_t i = 0; i < list.size(); ++i) known.emplace(list[i].first, answers[i]);
}

void Estimates::ask_ahead(const std::vector<RunSpec>& all) {
  learn_floors(all);
  std::vector<RunSpec> specs;
  for (const RunSpec& spec : all) {
    if (floor(spec) <= oracle_.capacity) {
      specs.push_back(spec);
    } else {
      fits_.try_emplace(row_name(spec));
    }
  }
  std::vector<std::optional<bool>> answers(specs.size());
  std::atomic<size_t> first_that_fits = specs.size();
  side_by_side(specs.size(), [&](size_t place) {
    if (place > first_that_fits || oracle_.stopped()) return;
    try {
      answers[place] = oracle_.fits(specs[place]);
    } catch (const std::exception&) {
      return;  // thrown again when the search asks
    }
    if (!*answers[place]) return;
    size_t known = first_that_fits;
    while (place < known && !first_that_fits.compare_exchange_weak(known, place)) continue;
  });
  for (size_t i = 0; i < specs.size(); ++i) {
    if (answers[i]) fits_.try_emplace(row_name(specs[i]), Answer{.fits = *answers[i]});
  }
}

Questions Estimates::questions() const {
  const auto wanted = std::count_if(fits_.begin(), fits_.end(),
                                    [](const auto& one) { return one.second.is_wanted; });
  const auto bounds =
      std::count_if(leasts_.begin(), leasts_.end(), [](const auto& one) { return one.second > 0; });
  return {.needs = needs_.size(),
          .guesses = static_cast<size_t>(bounds) + abouts_.size(),
          .fits = static_cast<size_t>(wanted),
          .hosts = hosts_.size(),
          .cells = runs_};
}

Verdict Estimates::run(const RunSpec& spec) {
  ++runs_;
  Verdict verdict = oracle_.run(spec);
  if (verdict.of_host) verdict.host_excess = host(spec) - *oracle_.host_limit;
  return verdict;
}

size_t Estimates::smallest(const std::vector<TechniqueSet>& sets, std::vector<size_t> places) {
  std::map<size_t, int64_t> bounds;
  const auto by_bound = [&](size_t a, size_t b) { return bounds.at(a) < bounds.at(b); };
  for (const size_t place : places) bounds[place] = floor(sets[place].spec);
  std::stable_sort(places.begin(), places.end(), by_bound);
  size_t best = places.front();
  std::vector<RunSpec> open;
  for (const size_t place : places) {
    if (oracle_.stopped() || bounds.at(place) >= need(sets[best].spec)) break;
    open.push_back(sets[place].spec);
  }
  learn_leasts(open);
  places.resize(open.size());
  for (const size_t place : places) bounds[place] = least(sets[place].spec);
  std::stable_sort(places.begin(), places.end(), by_bound);
  for (const size_t place : places) {
    if (oracle_.stopped() || bounds.at(place) >= need(sets[best].spec)) break;
    if (need(sets[place].spec) < need(sets[best].spec)) best = place;
  }
  return best;
}

size_t Estimates::nearest(const std::vector<TechniqueSet>& sets) {
  std::vector<size_t> within, beyond;  // the limit on host memory
  for (size_t i = 0; i < sets.size(); ++i) {
    (fits_host(sets[i].spec) ? within : beyond).push_back(i);
  }
  std::stable_sort(beyond.begin(), beyond.end(),
                   [&](size_t a, size_t b) { return host(sets[a].spec) < host(sets[b].spec); });
  for (const size_t place : beyond) {
    if (oracle_.stopped()) break;
    if (fits_card(sets[place].spec)) return place;
  }
  return smallest(sets, within.empty() ? beyond : within);
}

}  // namespace headroom
