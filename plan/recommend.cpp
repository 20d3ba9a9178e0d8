#include "plan/recommend.h"

#include <algorithm>
#include <map>
#include <memory>

#include "plan/setup_space.h"
#include "plan/transitions.h"
#include "train/quantity.h"

namespace headroom {
namespace {

// Models take milliseconds to add up, and depend on nothing of a set-up but the micro-batch.
class Memory {
 public:
  explicit Memory(const RlhfSpec& spec) : trial_(spec) {}

  void try_on(int64_t num_gpus) { trial_.num_gpus = num_gpus; }
  const RlhfSpec& spec(const RlhfSetup& setup) {
    trial_.setup = setup;
    return trial_;
  }
  RankMemory worst(const RlhfSetup& setup) {
    trial_.setup = setup;  // before models(), which looks at its micro-batch
    return worst_rank(trial_, models());
  }
  int64_t peak(const RlhfSetup& setup) { return worst(setup).peak_bytes(setup.swap_phases); }
  bool fits(const RlhfSetup& setup) { return peak(setup) <= trial_.card.total_bytes; }

 private:
  const RlhfModels& models() {
    auto& models = models_[trial_.micro_batch()];
    if (!models) models = std::make_unique<RlhfModels>(trial_);
    return *models;
  }

  RlhfSpec trial_;
  std::map<int64_t, std::unique_ptr<RlhfModels>> models_;
};

Phase fullest_phase(const RlhfSpec& spec, const RankMemory& memory) {
  const std::vector<Phase> phases = phases_of(spec);
  return *std::max_element(phases.begin(), phases.end(), [&](Phase a, Phase b) {
    return memory.phase_bytes(a, spec.setup.swap_phases) <
           memory.phase_bytes(b, spec.setup.swap_phases);
  });
}

Recommended recommended(const RlhfSetup& setup, Memory& memory) {
  Recommended result{.spec = memory.spec(setup), .worst = memory.worst(setup)};
  result.phase = fullest_phase(result.spec, result.worst);
  result.peak = result.worst.phase_bytes(result.phase, setup.swap_phases);
  return result;
}

std::vector<Reason> reasons_of(const RlhfSpec& spec, const RlhfSetup& setup, Memory& memory) {
  std::vector<Reason> reasons;
  for (const Without& step : one_step_back(spec, setup)) {
    if (!step.refused.empty()) {
      reasons.push_back({step.technique, step.instead + " " + step.refused});
      continue;
    }
    const Recommended without = recommended(step.setup, memory);
    reasons.push_back({step.technique, step.instead + " is short by " +
                                           format_bytes(-without.margin()) + " per GPU in " +
                                           to_string(without.phase)});
  }
  return reasons;
}

bool needs_all_of(const Cost& cost, const Cost& other) {
  for (size_t i = 0; i < kTechniques; ++i) {
    if (cost[i] < other[i]) return false;
  }
  return true;
}

struct Candidate {
  Cost cost;
  RlhfSetup setup;
};

// Cheapest first.
std::vector<Candidate> fitting(const RlhfSpec& spec, Memory& memory, int64_t& tried) {
  std::vector<Candidate> found;
  for (const RlhfSetup& setup : all_setups(spec)) {
    ++tried;
    if (memory.fits(setup)) found.push_back({cost_of(spec, setup), setup});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return found;
}

void name_the_nearest(Recommendation& result, RlhfSpec spec, Memory& memory) {
  const std::vector<RlhfSetup> all = all_setups(spec);
  if (all.empty()) return;
  std::vector<int64_t> peaks;
  peaks.reserve(all.size());
  for (const RlhfSetup& setup : all) peaks.push_back(memory.peak(setup));
  const auto lowest = std::min_element(peaks.begin(), peaks.end()) - peaks.begin();
  result.nearest.push_back(recommended(all[static_cast<size_t>(lowest)], memory));
  constexpr int64_t kMostGpus = 65536;
  while (spec.num_gpus * 2 <= kMostGpus) {
    spec.num_gpus *= 2;
    memory.try_on(spec.num_gpus);
    const std::vector<RlhfSetup> more = all_setups(spec);
    if (!std::any_of(more.begin(), more.end(),
                     [&](const RlhfSetup& setup) { return memory.fits(setup); })) {
      continue;
    }
    result.gpus_that_fit = spec.num_gpus;
    return;
  }
}

}  // namespace

Cost cost_of(const RlhfSpec& spec, const RlhfSetup& setup) {
  const Layout& layout = setup.layout;
  Cost cost{};
  const auto level = [&](Technique technique) -> int64_t& {
    return cost[static_cast<size_t>(technique)];
  };
  level(Technique::kOptimizerOffload) = setup.optimizer_offload ? 1 : 0;
  level(Technique::kPipeline) = layout.pp - 1;
  level(Technique::kSwapPhases) = setup.swap_phases ? 1 : 0;
  level(Technique::kZero3) = layout.zero == 3 ? 1 : 0;
  level(Technique::kCheckpoint) = static_cast<int64_t>(setup.checkpoint);
  level(Technique::kReferenceOffload) = setup.reference == Reference::kOffload ? 1 : 0;
  level(Technique::kTensorParallel) = layout.tp - 1;
  level(Technique::kMicroBatches) = spec.micro_batch() - setup.micro_batch_size;
  level(Technique::kZero12) = layout.zero;
  return cost;
}

Recommendation recommend(const RlhfSpec& spec, size_t most) {
  Memory memory(spec);
  Recommendation result;
  std::vector<Cost> chosen;
  for (const Candidate& candidate : fitting(spec, memory, result.tried)) {
    if (chosen.size() == most) break;
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const Cost& other) { return needs_all_of(candidate.cost, other); })) {
      continue;
    }
    chosen.push_back(candidate.cost);
    result.fitting.push_back(recommended(candidate.setup, memory));
    result.fitting.back().reasons = reasons_of(spec, candidate.setup, memory);
  }
  if (result.fitting.empty()) name_the_nearest(result, spec, memory);
  return result;
}

}  // namespace headroom
