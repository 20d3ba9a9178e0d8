// The cheapest sets of techniques for a given run.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "bench/process/cores.h"
#include "plan/fit/meshes/mesh_sets.h"
#include "plan/fit/questions/estimates.h"
#include "plan/fit/questions/need.h"
#include "plan/fit/searches.h"
#include "text/quantity.h"

namespace headroom {
namespace {

class CheapestSets {
 public:
  CheapestSets(const FitQuestion& question, const FitOracle& oracle)
      : question_(question),
        oracle_(oracle),
        sets_(sets_of(question, oracle)),
        estimates_(oracle),
        floors_(sets_.size()) {
    result_.sets = sets_.size();
  }

  FitResult search() {
    for (;;) {
      const std::vector<size_t> open = proposed();
      if (oracle_.stopped() || open.empty()) break;
      oracle_.on_expected(2 * open.size());
      prefetch(open);
      consider(open.front());
    }
    if (result_.answers.empty() && !oracle_.stopped() && !sets_.empty()) settle_nearest();
    result_.stopped = oracle_.stopped();
    result_.questions = estimates_.questions();
    return std::move(result_);
  }

 private:
  // Note [The frontier]
  // Rationale: a superset of a fitting set is no answer, nor is a set that needs as much as a
  //   cheaper answer. Whether the second kind fits matters only for its own supersets, which are
  //   answers only if it does not.
  // Approach: the sets are visited from the cheapest on. A set whose bound is not below every
  //   answer's need is put aside. For any other, those put aside that it is a superset of are
  //   checked: if one fits, neither this set nor any other superset of that one is an answer.
  struct Frontier {
    std::vector<Cost> fitting;  // sets that fit
    std::vector<size_t> aside;  // indices of sets put aside that may fit
    int64_t least_need = std::numeric_limits<int64_t>::max();  // of the answers
  };

  // Answers still to be proved, if the card agrees with theory.
  std::vector<size_t> proposed() {
    Frontier frontier;
    for (const FitAnswer& answer : result_.answers) {
      frontier.fitting.push_back(answer.set.cost);
      frontier.least_need = std::min(frontier.least_need, answer.need);
    }
    std::vector<size_t> open;
    const size_t most = question_.answers - std::min(question_.answers, result_.answers.size());
    for (size_t i = 0; i < sets_.size() && open.size() < most && !oracle_.stopped(); ++i) {
      oracle_.on_theory(i, sets_.size());
      if (!is_candidate(i, frontier)) continue;
      if (!estimates_.knows(sets_[i].spec)) ask_ahead(i, frontier);
      if (!estimates_.fits(sets_[i].spec)) continue;
      const int64_t need = estimates_.need(sets_[i].spec);
      frontier.fitting.push_back(sets_[i].cost);
      if (need >= frontier.least_need) continue;
      frontier.least_need = need;
      open.push_back(i);
    }
    return open;
  }

  // True if the set is an answer once it fits. A set that may fit but is no answer is put aside.
  bool is_candidate(size_t place, Frontier& frontier) {
    if (is_passed_over(place, frontier.fitting) || floor(place) > oracle_.capacity) return false;
    if (floor(place) < frontier.least_need) {
      if (!estimates_.knows_least(sets_[place].spec)) bound_ahead(place, frontier);
      const int64_t least = estimates_.least(sets_[place].spec);
      if (least > oracle_.capacity) return false;
      if (least < frontier.least_need) return !has_fitting_part(place, frontier);
    }
    frontier.aside.push_back(place);
    return false;
  }

  bool has_fitting_part(size_t place, Frontier& frontier) {
    std::vector<size_t> parts;
    for (const size_t part : frontier.aside) {
      if (needs_all_of(sets_[place].cost, sets_[part].cost)) parts.push_back(part);
    }
    const auto is_known = [&](size_t part) { return estimates_.knows(sets_[part].spec); };
    std::stable_partition(parts.begin(), parts.end(), is_known);
    for (const size_t part : parts) {
      if (oracle_.stopped()) return false;
      if (!is_known(part)) ask_parts_ahead(parts);
      const bool fits = estimates_.fits(sets_[part].spec);
      std::erase(frontier.aside, part);
      if (!fits) continue;
      frontier.fitting.push_back(sets_[part].cost);
      return true;
    }
    return false;
  }

  void ask_parts_ahead(const std::vector<size_t>& parts) {
    std::vector<RunSpec> specs;
    for (const size_t part : parts) {
      if (!estimates_.knows(sets_[part].spec)) specs.push_back(sets_[part].spec);
    }
    estimates_.ask_ahead(specs);
  }

  // Announces these, and after the first proved answer the set to run beside each: theory finds the
  // next ones while cells run.
  void prefetch(const std::vector<size_t>& open) {
    constexpr size_t kAhead = 3;
    std::vector<RunSpec> specs;
    const auto add = [&](size_t place) {
      if (verdicts_.count(place) == 0) specs.push_back(sets_[place].spec);
    };
    for (size_t i = 0; i < open.size(); ++i) {
      add(open[i]);
      const std::vector<size_t> cheaper = one_step_back(sets_, open[i]);
      const bool is_soon = i < kAhead && !result_.answers.empty() && !cheaper.empty();
      if (is_soon && !oracle_.stopped()) add(estimates_.smallest(sets_, cheaper));
    }
    oracle_.prefetch(specs);
  }

  // True if the set was run already, is a superset of a fitting one, or exceeds the host.
  bool is_passed_over(size_t place, const std::vector<Cost>& fitting) {
    return verdicts_.count(place) > 0 || uses_all_of_one(place, fitting) ||
           !estimates_.fits_host(sets_[place].spec);
  }

  // True if the floor does not exclude the set as an answer.
  bool floor_leaves_open(size_t place, const std::vector<Cost>& fitting, const Frontier& frontier) {
    return !is_passed_over(place, fitting) && floor(place) <= oracle_.capacity &&
           floor(place) < frontier.least_need;
  }

  // Note [Asked ahead]
  void bound_ahead(size_t first, const Frontier& frontier) {
    std::vector<RunSpec> specs;
    for (size_t i = first; i < sets_.size() && specs.size() < 2 * cores(); ++i) {
      if (floor_leaves_open(i, frontier.fitting, frontier)) specs.push_back(sets_[i].spec);
    }
    estimates_.learn_leasts(specs);
  }

  // Assumes that each fits: supersets of it are then not asked for.
  void ask_ahead(size_t first, const Frontier& frontier) {
    std::vector<Cost> fitting = frontier.fitting;
    std::vector<RunSpec> specs;
    for (size_t i = first; i < sets_.size() && specs.size() < cores(); ++i) {
      if (!floor_leaves_open(i, fitting, frontier)) continue;
      if (!estimates_.knows_least(sets_[i].spec)) break;
      const int64_t least = estimates_.least(sets_[i].spec);
      if (least > oracle_.capacity || least >= frontier.least_need) continue;
      specs.push_back(sets_[i].spec);
      fitting.push_back(sets_[i].cost);
    }
    estimates_.ask_ahead(specs);
  }

  int64_t floor(size_t place) {
    std::optional<int64_t>& known = floors_[place];
    if (!known) known = estimates_.floor(sets_[place].spec);
    return *known;
  }

  bool uses_all_of_one(size_t place, const std::vector<Cost>& fitting) const {
    return std::any_of(fitting.begin(), fitting.end(),
                       [&](const Cost& other) { return needs_all_of(sets_[place].cost, other); });
  }

  void consider(size_t place) {
    const Verdict& verdict = run(place);
    if (oracle_.stopped()) return;
    if (verdict.fits != Fits::kYes) return note_refusal(place);
    // If a smaller set fits against theory, that one is the answer.
    std::optional<Beyond> beyond;
    for (size_t fitting = place;;) {
      const std::optional<size_t> next = neighbour(fitting);
      if (oracle_.stopped()) return;
      if (next && run(*next).fits == Fits::kYes) {
        result_.notes.push_back("theory finds " + sets_[*next].in_words() + " too large by " +
                                excess(*next) + ", and the card runs it");
        fitting = *next;
        continue;
      }
      if (oracle_.stopped()) return;
      if (next) beyond = beyond_of(fitting, *next);
      return add(fitting, std::move(beyond));
    }
  }

  void add(size_t place, std::optional<Beyond> beyond) {
    result_.answers.push_back({.set = sets_[place],
                               .value = 0,
                               .need = estimates_.need(sets_[place].spec),
                               .verdict = run(place),
                               .beyond = std::move(beyond)});
  }

  // The smallest set by theory that can be judged, among the sets one step cheaper; for the first
  // answer among all cheaper sets.
  std::optional<size_t> neighbour(size_t place) {
    std::vector<size_t> cheaper = one_step_back(sets_, place);
    if (result_.answers.empty()) {
      cheaper.resize(place);
      std::iota(cheaper.begin(), cheaper.end(), 0);
    }
    while (!cheaper.empty() && !oracle_.stopped()) {
      const size_t smallest = estimates_.smallest(sets_, cheaper);
      if (run(smallest).fits != Fits::kUnknown) return smallest;
      std::erase(cheaper, smallest);
    }
    return std::nullopt;
  }

  Beyond beyond_of(size_t place, size_t next) {
    std::string what = sets_[next].in_words() + " instead";
    const std::vector<size_t> steps = one_step_back(sets_, place);
    if (std::count(steps.begin(), steps.end(), next) > 0) what = change(place, next);
    return {.what = std::move(what),
            .spec = sets_[next].spec,
            .need = estimates_.need(sets_[next].spec),
            .verdict = run(next)};
  }

  // "without checkpoint full", "checkpoint selective": for sets that differ in one technique.
  std::string change(size_t place, size_t next) const {
    if (sets_[next].mesh != sets_[place].mesh) return sets_[next].mesh;
    const auto& names = sets_[next].names;
    for (const std::string& name : names) {
      const auto& had = sets_[place].names;
      if (std::find(had.begin(), had.end(), name) == had.end()) return name;
    }
    for (const std::string& name : sets_[place].names) {
      if (std::find(names.begin(), names.end(), name) == names.end()) return "without " + name;
    }
    return "nothing";
  }

  std::string excess(size_t place) {
    return format_bytes(estimates_.need(sets_[place].spec) - oracle_.capacity);
  }

  const Verdict& run(size_t place) {
    const auto known = verdicts_.find(place);
    if (known != verdicts_.end()) return known->second;
    return verdicts_[place] = estimates_.run(sets_[place].spec);
  }

  void note_refusal(size_t place) {
    const Verdict& verdict = run(place);
    const std::string name = sets_[place].in_words();
    if (verdict.fits == Fits::kUnknown) {
      result_.notes.push_back("not judged: " + name + ": " + verdict.reason);
      return;
    }
    if (!knows_allocator_of(sets_[place].spec)) return;
    result_.notes.push_back(
        "theory finds " + format_bytes(-(estimates_.need(sets_[place].spec) - oracle_.capacity)) +
        " to spare with " + name + ", and the card does not: " + verdict.reason);
  }

  void settle_nearest() {
    const size_t least = estimates_.nearest(sets_);
    if (oracle_.stopped()) return;
    oracle_.on_expected(1);
    const Fits fits = run(least).fits;
    if (fits == Fits::kYes) return consider(least);
    if (oracle_.stopped()) return;
    if (fits == Fits::kUnknown) return note_refusal(least);
    result_.nearest = FitAnswer{.set = sets_[least],
                                .value = 0,
                                .need = estimates_.need(sets_[least].spec),
                                .verdict = run(least),
                                .beyond = std::nullopt};
  }

  const FitQuestion& question_;
  const FitOracle& oracle_;
  std::vector<TechniqueSet> sets_;
  Estimates estimates_;
  std::vector<std::optional<int64_t>> floors_;  // per set; read many times
  std::map<size_t, Verdict> verdicts_;
  FitResult result_;
};

}  // namespace

FitResult cheapest_sets(const FitQuestion& question, const FitOracle& oracle) {
  return CheapestSets(question, oracle).search();
}

}  // namespace headroom
