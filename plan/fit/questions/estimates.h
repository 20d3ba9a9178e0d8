// Theory's answers for the sets of one search, each computed once. No torch here.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plan/fit/search.h"

namespace headroom {

// Note [Asked ahead]
// Rationale: a search goes from set to set, and the next question depends on the last answer: one
//   core. Nearly every set does not fit, and then the next question is known.
// Approach: the questions that follow if none of them fits are answered together, on every core,
//   and cached; the search goes on one by one and finds the answers. Behind the first that fits no
//   more are started. So the answers are those of one core.
// Limits: questions already started behind one that fits are wasted: one per core.
class Estimates {
 public:
  explicit Estimates(const FitOracle& oracle) : oracle_(oracle) {}

  // INT64_MAX for a run that theory refuses.
  int64_t floor(const RunSpec& spec);
  int64_t need(const RunSpec& spec) { return of(needs_, oracle_.need, spec); }
  // A lower bound of the need. It is closer than the floor, and slower to compute.
  int64_t least(const RunSpec& spec);
  // Accurate enough for a guess: on a mesh from one rank of each stage.
  int64_t about(const RunSpec& spec) {
    return of(abouts_, oracle_.about ? oracle_.about : oracle_.need, spec);
  }
  int64_t host(const RunSpec& spec) { return of(hosts_, oracle_.host, spec); }

  // True if the card and the host have room.
  bool fits(const RunSpec& spec);
  bool fits_card(const RunSpec& spec);
  bool fits_host(const RunSpec& spec);

  // Note [Asked ahead]. How many specs to ask at once, and whether one is known.
  static size_t ahead();
  bool knows(const RunSpec& spec) const;
  bool knows_least(const RunSpec& spec) const;
  void learn_leasts(const std::vector<RunSpec>& specs);
  void ask_ahead(const std::vector<RunSpec>& specs);

  // Counts so far; a repeated question counts once.
  Questions questions() const;

  // The card's verdict, also on the limit on host memory.
  Verdict run(const RunSpec& spec);

  // The index of the set with the smallest need; `places` must not be empty.
  size_t smallest(const std::vector<TechniqueSet>& sets, std::vector<size_t> places);

  // If none fits: the index of FitResult::nearest, by theory. `sets` must not be empty.
  size_t nearest(const std::vector<TechniqueSet>& sets);

 private:
  using Known = std::map<std::string, int64_t>;
  struct Answer {
    bool fits = false;
    bool is_wanted = false;  // asked by the search itself
  };
  static int64_t of(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                    const RunSpec& spec);

  static void learn(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                    const std::map<std::string, RunSpec>& unknown);
  void learn_floors(const std::vector<RunSpec>& specs);

  const FitOracle& oracle_;
  Known floors_;
  Known needs_;
  Known leasts_;
  Known abouts_;
  Known hosts_;
  std::map<std::string, Answer> fits_;
  size_t runs_ = 0;
};

}  // namespace headroom
