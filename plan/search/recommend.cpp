#include "plan/search/recommend.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "plan/rlhf/iteration.h"
#include "plan/rlhf/rehearsed.h"
#include "plan/search/setup_space.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// Models take milliseconds to sum, and depend only on a set-up's micro-batch.
class TrialMemory {
 public:
  explicit TrialMemory(const RlhfSpec& spec) : trial_(spec) {}

  void set_num_gpus(int64_t num_gpus) { trial_.num_gpus = num_gpus; }
  const RlhfSpec& spec(const RlhfSetup& setup) {
    trial_.setup = setup;
    return trial_;
  }
  RankMemory worst(const RlhfSetup& setup, std::optional<int64_t> bytes = std::nullopt) {
    trial_.setup = setup;  // before models(), which reads its micro-batch
    return worst_rank(trial_, models(), bytes);
  }
  RankMemory rows(const RlhfSetup& setup) {
    trial_.setup = setup;
    ++sums_;
    return added_up(trial_, models());
  }
  // A rehearsal costs a thousand sums: it comes last.
  bool fits(const RlhfSetup& setup) {
    if (least_bytes(spec(setup), rows(setup)) > trial_.card.total_bytes) return false;
    return worst(setup, trial_.card.total_bytes).peak_bytes(setup.swap_phases) <=
           trial_.card.total_bytes;
  }

  Questions questions() const {
    Questions asked{.needs = 0, .guesses = sums_, .fits = 0, .hosts = 0, .cells = 0};
    for (const auto& [micro_batch, models] : models_) {
      asked.needs += models->steps->count() + models->iterations->count();
    }
    return asked;
  }

 private:
  const RlhfModels& models() {
    auto& models = models_[trial_.micro_batch()];
    if (!models) models = std::make_unique<RlhfModels>(trial_);
    return *models;
  }

  RlhfSpec trial_;
  size_t sums_ = 0;
  std::map<int64_t, std::unique_ptr<RlhfModels>> models_;
};

RlhfPhase fullest_phase(const RlhfSpec& spec, const RankMemory& memory) {
  const std::vector<RlhfPhase> phases = phases_of(spec);
  return *std::max_element(phases.begin(), phases.end(), [&](RlhfPhase a, RlhfPhase b) {
    return memory.phase_bytes(a, spec.setup.swap_phases) <
           memory.phase_bytes(b, spec.setup.swap_phases);
  });
}

Recommended recommended(const RlhfSpec& spec, RankMemory memory) {
  Recommended result{.spec = spec, .worst = std::move(memory)};
  result.phase = fullest_phase(result.spec, result.worst);
  result.peak = result.worst.phase_bytes(result.phase, spec.setup.swap_phases);
  return result;
}

Recommended recommended(const RlhfSetup& setup, TrialMemory& memory) {
  return recommended(memory.spec(setup), memory.worst(setup));
}

// A set-up that does not fit, by its first rank without room: the fullest may need a little more.
Recommended first_beyond(const RlhfSetup& setup, TrialMemory& memory) {
  const int64_t bytes = memory.spec(setup).card.total_bytes;
  return recommended(memory.spec(setup), memory.worst(setup, bytes));
}

std::vector<Reason> reasons_of(const RlhfSpec& spec, const RlhfSetup& setup, TrialMemory& memory) {
  std::vector<Reason> reasons;
  for (const StepBack& step : one_step_back(spec, setup)) {
    if (!step.refused.empty()) {
      reasons.push_back({step.technique, step.instead + " " + step.refused});
      continue;
    }
    const Recommended without = first_beyond(step.setup, memory);
    reasons.push_back({step.technique, step.instead + " is short by " +
                                           format_bytes(-without.margin()) + " per GPU in " +
                                           to_string(without.phase)});
  }
  return reasons;
}

// The set-up that needs least, by summed rows.
RlhfSetup lowest(const std::vector<RlhfSetup>& setups, TrialMemory& memory) {
  const RlhfSetup* lowest = nullptr;
  int64_t least = 0;
  for (const RlhfSetup& setup : setups) {
    const int64_t peak = memory.rows(setup).peak_bytes(setup.swap_phases);
    if (lowest != nullptr && peak >= least) continue;
    lowest = &setup;
    least = peak;
  }
  return *lowest;
}

// The fewest GPUs, doubled from the spec's, on which something fits; 0 = none tried.
int64_t gpus_that_fit(RlhfSpec spec, TrialMemory& memory) {
  constexpr int64_t kMostGpus = 65536;
  while (spec.num_gpus * 2 <= kMostGpus) {
    spec.num_gpus *= 2;
    memory.set_num_gpus(spec.num_gpus);
    const std::vector<RlhfSetup> all = all_setups(spec);
    if (std::any_of(all.begin(), all.end(),
                    [&](const RlhfSetup& setup) { return memory.fits(setup); })) {
      return spec.num_gpus;
    }
  }
  return 0;
}

// The cheapest that fit; each avoids something that every earlier one needs.
std::vector<RlhfSetup> cheapest(const RlhfSpec& spec, std::vector<RlhfSetup> all, size_t most,
                                TrialMemory& memory) {
  std::stable_sort(all.begin(), all.end(),
                   [&, order = CostOrder()](const RlhfSetup& a, const RlhfSetup& b) {
                     return order.is_cheaper(cost_of(spec, a), cost_of(spec, b));
                   });
  std::vector<Cost> costs;
  std::vector<RlhfSetup> setups;
  for (const RlhfSetup& setup : all) {
    if (setups.size() == most) break;
    const Cost cost = cost_of(spec, setup);
    if (std::any_of(costs.begin(), costs.end(),
                    [&](const Cost& other) { return needs_all_of(cost, other); }) ||
        !memory.fits(setup)) {
      continue;
    }
    costs.push_back(cost);
    setups.push_back(setup);
  }
  return setups;
}

}  // namespace

Cost cost_of(const RlhfSpec& spec, const RlhfSetup& setup) {
  const Layout& layout = setup.layout;
  Cost cost{};
  add_mesh(cost, layout.tp, layout.pp, layout.zero);
  const auto level = [&](Technique technique) -> int64_t& {
    return cost[static_cast<size_t>(technique)];
  };
  level(Technique::kOptimizerOffload) = static_cast<int64_t>(setup.optimizer_space);
  level(Technique::kSwapPhases) = setup.swap_phases ? 1 : 0;
  level(Technique::kCheckpoint) = static_cast<int64_t>(setup.checkpoint.kind);
  level(Technique::kReferenceOffload) = setup.reference == Reference::kOffload ? 1 : 0;
  level(Technique::kMicroBatches) = spec.micro_batch() - setup.micro_batch_size;
  return cost;
}

Recommendation recommend(const RlhfSpec& spec, size_t most) {
  TrialMemory memory(spec);
  const std::vector<RlhfSetup> all = all_setups(spec);
  Recommendation result{.tried = static_cast<int64_t>(all.size())};
  if (all.empty()) return result;
  for (const RlhfSetup& setup : cheapest(spec, all, most, memory)) {
    result.fitting.push_back(recommended(setup, memory));
    result.fitting.back().reasons = reasons_of(spec, setup, memory);
  }
  if (result.fitting.empty()) {
    result.nearest = recommended(lowest(all, memory), memory);
    result.gpus_that_fit = gpus_that_fit(spec, memory);
  }
  result.questions = memory.questions();
  return result;
}

}  // namespace headroom
