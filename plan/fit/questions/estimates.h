// What theory says of the sets of one search, each asked once. No torch here.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plan/fit/search.h"

namespace headroom {

// Note [Asked ahead]
// Rationale: a search goes from set to set, and which one it asks of next depends on what it has
//   found: one core. Nearly every set does not fit, and then the next question is known.
// Approach: those that will be asked for if none of them fits are answered together, on every core,
//   and kept; the search itself goes on one by one and finds them answered. From the first that
//   fits on none is begun. So the answers are those of one core, whatever the others do.
// Limits: what was begun behind one that fits is lost: one question a core.
class Estimates {
 public:
  explicit Estimates(const FitOracle& judge) : judge_(judge) {}

  // Of a run that theory refuses: as much as there is not.
  int64_t floor(const RunSpec& spec);
  int64_t need(const RunSpec& spec) { return of(needs_, judge_.need, spec); }
  // A lower bound of the need. It is closer than the floor, and costs more.
  int64_t least(const RunSpec& spec);
  // What a guess may go by: of a mesh a rank of each stage.
  int64_t about(const RunSpec& spec) {
    return of(abouts_, judge_.about ? judge_.about : judge_.need, spec);
  }
  int64_t host(const RunSpec& spec) { return of(hosts_, judge_.host, spec); }

  // Whether the card has room for it, and the host too.
  bool fits(const RunSpec& spec);
  bool fits_card(const RunSpec& spec);
  bool fits_host(const RunSpec& spec);

  // Note [Asked ahead]. How many are worth it, and whether one is answered already.
  static size_t ahead();
  bool knows(const RunSpec& spec) const;
  bool knows_least(const RunSpec& spec) const;
  void learn_leasts(const std::vector<RunSpec>& specs);
  void ask_ahead(const std::vector<RunSpec>& specs);

  // So far: each question is kept once.
  Questions questions() const;

  // What the card says of a run, and the limit on host memory.
  Verdict run(const RunSpec& spec);

  // The place of the set that needs least; `places` is not empty.
  size_t smallest(const std::vector<TechniqueSet>& sets, std::vector<size_t> places);

  // Where none of them fits: the place of FitResult::nearest, by theory. `sets` is not empty.
  size_t nearest(const std::vector<TechniqueSet>& sets);

 private:
  using Known = std::map<std::string, int64_t>;
  struct Answer {
    bool fits = false;
    bool is_wanted = false;  // the search itself has asked
  };
  static int64_t of(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                    const RunSpec& spec);

  static void learn(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                    const std::map<std::string, RunSpec>& unknown);
  void learn_floors(const std::vector<RunSpec>& specs);

  const FitOracle& judge_;
  Known floors_;
  Known needs_;
  Known leasts_;
  Known abouts_;
  Known hosts_;
  std::map<std::string, Answer> fits_;
  size_t runs_ = 0;
};

}  // namespace headroom
