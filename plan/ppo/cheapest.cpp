#include "plan/ppo/cheapest.h"

#include <algorithm>
#include <map>

namespace headroom {
namespace {

// Autocast keeps a copy of every weight: with small activations that exceeds its savings.
bool may_need_more(Technique technique) { return technique == Technique::kBf16Products; }

class Search {
 public:
  Search(const PpoRun& base, const std::vector<RunTechnique>& techniques, const PpoOracle& oracle)
      : base_(base), techniques_(techniques), oracle_(oracle) {
    fit_.techniques = techniques;
  }

  PpoFit go() {
    while (!oracle_.stopped() && !fit_.answer) {
      const std::optional<PpoSet> found = proposed();
      if (!found) {
        settle_nearest();
        break;
      }
      settle(*found);
    }
    const auto runs = std::count_if(sets_.begin(), sets_.end(),
                                    [](const auto& one) { return one.second.has_value(); });
    fit_.questions = {.needs = static_cast<size_t>(runs),
                      .guesses = 0,
                      .fits = fits_.size(),
                      .hosts = 0,
                      .cells = records_.size()};
    fit_.stopped = oracle_.stopped();
    return std::move(fit_);
  }

 private:
  // The set that fits by theory and by all runs so far; nullopt: none does.
  std::optional<PpoSet> proposed() {
    Levels chosen;
    std::optional<PpoSet> best = smallest(chosen);
    if (!best || !fits(*best)) return std::nullopt;
    for (const RunTechnique& technique : techniques_) {
      chosen.push_back(0);
      for (size_t level = 0; level <= technique.levels.size(); ++level) {
        chosen.back() = level;
        const std::optional<PpoSet> one = smallest(chosen);
        if (oracle_.stopped()) return std::nullopt;
        if (!one || !fits(*one)) continue;
        best = one;
        break;
      }
    }
    return best;
  }

  // Runs the set, then the smallest of the cheaper ones.
  void settle(PpoSet set) {
    for (;;) {
      run(set);
      if (oracle_.stopped()) return;
      if (set.record->status != Status::kOk) return note_refusal(set);
      std::optional<PpoSet> cheaper = smallest_cheaper(set.levels);
      if (!cheaper || oracle_.stopped()) return answer(set, std::nullopt);
      run(*cheaper);
      if (oracle_.stopped()) return;
      if (cheaper->record->status != Status::kOk) return answer(set, cheaper);
      fit_.notes.push_back("theory finds " + in_words(techniques_, cheaper->levels) +
                           " too large, and the card runs it");
      set = *cheaper;
    }
  }

  void answer(const PpoSet& set, const std::optional<PpoSet>& cheaper) {
    fit_.answer = set;
    fit_.cheaper = cheaper;
  }

  void note_refusal(const PpoSet& set) {
    fit_.notes.push_back("theory finds room for " + in_words(techniques_, set.levels) +
                         ", and the card has none: " + set.record->reason);
  }

  void settle_nearest() {
    std::optional<PpoSet> least = smallest({});
    if (!least || oracle_.stopped()) return;
    run(*least);
    fit_.nearest = least;
  }

  // Moves one technique one level back; all cheaper techniques are free.
  std::optional<PpoSet> smallest_cheaper(const Levels& levels) {
    std::optional<PpoSet> found;
    for (size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] == 0) continue;
      Levels prefix(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      --prefix.back();
      const std::optional<PpoSet> one = smallest(prefix);
      if (one && (!found || one->need < found->need)) found = one;
    }
    return found;
  }

  // The smallest set whose first techniques are `chosen`; all others are used as far as they are
  // compatible, and those that may need more are also left out.
  std::optional<PpoSet> smallest(const Levels& chosen) {
    Levels most = chosen;
    for (size_t i = chosen.size(); i < techniques_.size(); ++i) {
      most.push_back(techniques_[i].levels.size());
    }
    std::optional<PpoSet> found = as_far_as_possible(most, chosen.size());
    for (size_t i = chosen.size(); i < techniques_.size(); ++i) {
      if (!may_need_more(techniques_[i].technique)) continue;
      most[i] = 0;
      const std::optional<PpoSet> other = as_far_as_possible(most, chosen.size());
      if (other && (!found || other->need < found->need)) found = other;
    }
    return found;
  }

  // The smallest set of `levels` with the fewest techniques from `first` on left out.
  std::optional<PpoSet> as_far_as_possible(const Levels& levels, size_t first) {
    constexpr size_t kMostLeftOut = 5;
    for (size_t left_out = 0; left_out <= kMostLeftOut; ++left_out) {
      std::optional<PpoSet> found;
      without(levels, first, left_out, found);
      if (found) return found;
    }
    return std::nullopt;
  }

  // The smallest set of `levels` with `count` techniques from `first` on left out, into `found`.
  void without(const Levels& levels, size_t first, size_t count, std::optional<PpoSet>& found) {
    if (count == 0) return consider(levels, found);
    for (size_t i = first; i < levels.size(); ++i) {
      if (levels[i] == 0) continue;
      Levels fewer = levels;
      fewer[i] = 0;
      without(fewer, i + 1, count - 1, found);
    }
  }

  void consider(const Levels& levels, std::optional<PpoSet>& found) {
    if (oracle_.stopped()) return;
    const auto [known, is_new] = sets_.try_emplace(levels);
    if (is_new) known->second = set_of(levels);
    const std::optional<PpoSet>& set = known->second;
    if (set && (!found || set->need < found->need)) found = set;
  }

  // nullopt if the levels are invalid or the need is not known.
  std::optional<PpoSet> set_of(const Levels& levels) const {
    const std::optional<PpoRun> run = with_techniques(base_, techniques_, levels);
    const int64_t need = run ? oracle_.need(*run) : -1;
    if (need < 0) return std::nullopt;
    return PpoSet{.run = *run, .levels = levels, .need = need, .record = std::nullopt};
  }

  bool fits(const PpoSet& set) {
    const auto known = records_.find(set.levels);
    if (known != records_.end()) return known->second.status == Status::kOk;
    if (set.need > oracle_.capacity) return false;
    const auto [rehearsed, is_new] = fits_.try_emplace(set.levels, false);
    if (is_new) rehearsed->second = oracle_.fits(set.run);
    return rehearsed->second;
  }

  void run(PpoSet& set) {
    const auto known = records_.find(set.levels);
    set.record = known != records_.end() ? known->second : oracle_.run(set.run);
    records_.emplace(set.levels, *set.record);
  }

  const PpoRun& base_;
  const std::vector<RunTechnique>& techniques_;
  const PpoOracle& oracle_;
  std::map<Levels, std::optional<PpoSet>> sets_;  // by theory
  std::map<Levels, bool> fits_;
  std::map<Levels, Record> records_;
  PpoFit fit_;
};

}  // namespace

PpoFit cheapest_setup(const PpoRun& base, const std::vector<RunTechnique>& techniques,
                      const PpoOracle& oracle) {
  return Search(base, techniques, oracle).go();
}

}  // namespace headroom
