#include "plan/rlhf/rehearsed.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cards/cublas_workspace.h"
#include "plan/cost/fullest_ranks.h"
#include "plan/rlhf/iteration.h"
#include "plan/rlhf/rank_components.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using Model = RlhfModels::Model;

// A card with a size of its own is not in the table.
Device device_of(const Card& card) {
  const bool named = std::any_of(cards().begin(), cards().end(),
                                 [&](const Card& known) { return known.name == card.name; });
  if (!named) return {.kind = DeviceKind::kCuda};
  return {.kind = DeviceKind::kVirtual, .card = card.name};
}

bool is_kept_by_runs(const StatePrecision& precision, const RunSpec& run) {
  const MasterCopy master = precision.master > 0 ? MasterCopy::kFp32 : MasterCopy::kNone;
  return state_precision(run.precision, run.weights, master).name == precision.name;
}

// Replaces the components of one step that were summed from rows.
class StepWriter {
 public:
  StepWriter(const RankMemory& added_up, const StepPeak& peak, const StepNames& names)
      : memory_(added_up), peak_(peak), names_(names) {}

  RankMemory write(int64_t workspace) {
    const int64_t states = sum_of({kOptimizerState, kOptimizerNextState, kMasterWeights});
    const int64_t weights = at_most(names_.weights, peak_.of(kParameters));
    const int64_t optimizer = at_most(names_.optimizer, states);
    left_ = peak_.allocated - weights - optimizer - workspace;
    for (const char* group : {kInputs, kBatchLoss}) left_ -= peak_.of(group);  // experience
    std::erase_if(memory_.components, [&](const Component& one) {
      const bool of_the_other = one.kind == ComponentKind::kGradients &&
                                one.name != std::string_view(names_.gradients) &&
                                one.name != kGradientsInFlight;
      return one.in_step && !of_the_other;
    });
    add({.name = kGatheredInStep,
         .kind = ComponentKind::kWeights,
         .bytes = peak_.of(kParameters) - weights,
         .why = "ZeRO-3: those that are whole at the step's fullest instant"});
    add({.name = names_.gradients,
         .kind = ComponentKind::kGradients,
         .bytes = peak_.of(kGradients),
         .why = "those live at the step's fullest instant"});
    add({.name = "Activations",
         .kind = ComponentKind::kActivations,
         .bytes = peak_.of(kActivations),
         .scales = true,
         .why = "made by forward and loss and live at the step's fullest instant"});
    add({.name = "Temporaries",
         .kind = ComponentKind::kActivations,
         .bytes = sum_of({kTemporaries, kRecomputed, kRecomputedCast, kPassingCast, kClipping}),
         .scales = true,
         .why = "of backward, with recomputed activations"});
    add({.name = "Temporaries of the update",
         .kind = ComponentKind::kActivations,
         .bytes = peak_.of(kOptimizerTemporaries) + std::max<int64_t>(states - optimizer, 0),
         .why = "and next states, as this implementation makes them; steps that it counts"});
    add({.name = "Autocast's casts",
         .kind = ComponentKind::kWeights,
         .bytes = peak_.of(kCastCache),
         .why = "a low-precision copy of each weight that was cast and is kept"});
    add({.name = "cuBLAS workspace, backward",
         .kind = ComponentKind::kContext,
         .bytes = peak_.of(kWorkspaces) - workspace,
         .why = "autograd's thread has a handle of its own"});
    add({.name = "Tables, allocator's rounding",
         .kind = ComponentKind::kContext,
         .bytes = left_,
         .why = "rotary tables; blocks of the allocator are larger than the requests"});
    return std::move(memory_);
  }

 private:
  int64_t sum_of(std::initializer_list<const char*> groups) const {
    int64_t bytes = 0;
    for (const char* group : groups) bytes += peak_.of(group);
    return bytes;
  }

  // Limits a component to the rank's own part, which can be smaller than the first rank's.
  int64_t at_most(const char* name, int64_t bytes) {
    int64_t there = 0;
    for (Component& one : memory_.components) {
      if (one.name != std::string(name)) continue;
      one.bytes = std::min(one.bytes, bytes);
      there += one.bytes;
    }
    return there;
  }

  void add(Component component) {
    if (component.bytes <= 0) return;
    component.needed = bit(RlhfPhase::kTraining);
    component.in_step = true;
    left_ -= component.bytes;
    memory_.components.push_back(component);
  }

  RankMemory memory_;
  const StepPeak& peak_;
  const StepNames& names_;
  int64_t left_ = 0;
};

// Includes all that differ: the first, the last and one between; a stage first fills its pipeline.
int64_t passes_that_differ(const RlhfSpec& spec) {
  const int64_t most = 2 + (spec.setup.layout.ranks() > 1 ? spec.setup.layout.pp : 0);
  return std::min(spec.micro_batches(), most);
}

// The ranks of a plan, rehearsed until one exceeds `most`.
class Ranks {
 public:
  // at_once: only one step after the first.
  Ranks(const RlhfSpec& spec, const RlhfModels& models, int64_t most, bool at_once)
      : spec_(spec), models_(models), most_(most), at_once_(at_once) {}

  void consider(const Model& model, const char* word, const StepNames& names) {
    const int64_t workspace = cublas_workspace_bytes(spec_.card.compute_capability);
    RunSpec run = step_run_of(spec_, model.elements.config);
    if (at_once_) run.warmup_steps = run.measure_steps = 1;
    std::map<int64_t, Stage> stages;
    for (const int64_t rank : ranks_that_can_be_fullest(run)) {
      if (fullest_ && bytes(*fullest_) > most_) return;
      const int64_t place = run.mesh.place(rank, MeshAxis::kPipeline);
      const auto [at, is_new] = stages.try_emplace(place);
      Stage& stage = at->second;
      if (is_new) stage.added_up = stage_memory(spec_, models_, place);
      // A replica's peak is close to another's of its stage.
      if (!is_new && stage.first < bytes(*fullest_) - bytes(*fullest_) / 20) continue;
      const StepPeak& peak = models_.steps->peak(run, model.elements.head, rank);
      RankMemory memory = StepWriter(stage.added_up, peak, names).write(workspace);
      if (is_new) stage.first = bytes(memory);
      memory.training =
          std::string("a whole step of the ") + word + ", rehearsed; fullest in " + peak.where;
      if (!fullest_ || bytes(memory) > bytes(*fullest_)) fullest_ = std::move(memory);
    }
  }

  void consider_all() {
    consider(models_.actor, "actor", kActorNames);
    // A critic of the actor's size needs less: it makes no logits.
    if (models_.critic && !same_shape(spec_.actor, *spec_.critic)) {
      consider(*models_.critic, "critic", kCriticNames);
    }
  }

  RankMemory& fullest() { return *fullest_; }
  int64_t bytes(const RankMemory& one) const { return one.peak_bytes(spec_.setup.swap_phases); }

 private:
  struct Stage {
    RankMemory added_up;
    int64_t first = 0;  // bytes of its first rank
  };

  const RlhfSpec& spec_;
  const RlhfModels& models_;
  const int64_t most_;
  const bool at_once_;
  std::optional<RankMemory> fullest_;
};

}  // namespace

RunSpec step_run_of(const RlhfSpec& spec, const ModelConfig& config) {
  const Layout& layout = spec.setup.layout;
  RunSpec run = run_spec(config, batch_shape(spec, spec.seq_len));
  run.micro_batches = passes_that_differ(spec);
  run.batch_size = run.micro_batches * spec.micro_batch();
  run.mesh.sizes = {layout.pp, layout.dp, layout.tp};
  run.zero = layout.dp > 1 ? layout.zero : 0;
  run.sequence_parallel = layout.sequence_parallel && layout.tp > 1;
  run.checkpoint = spec.setup.checkpoint;
  run.optimizer = spec.optimizer;
  run.optimizer_impl = spec.implementation();
  run.device = device_of(spec.card);
  if (spec.precision.master > 0) run.master_weights = MasterCopy::kFp32;
  if (spec.setup.offloads_optimizer()) {
    run.optimizer_offload.space = spec.setup.optimizer_space;
    run.optimizer_impl = OptimizerImpl::kReference;  // its own, on the host
  }
  return run;
}

std::string why_added_up(const RlhfSpec& spec) {
  const RunSpec run = step_run_of(spec, spec.actor);
  if (!is_kept_by_runs(spec.precision, run)) {
    return "no run keeps its states as " + spec.precision.name;
  }
  if (!attention_refusal(run).empty()) {
    return "attention " + to_string(spec.attention) + " does not run on this card";
  }
  const bool known = has_predicted_peak(run) &&
                     (!spec.critic || has_predicted_peak(step_run_of(spec, *spec.critic)));
  if (!known) return "such a step is not rehearsed";
  try {
    validate(run);
  } catch (const UsageError& error) {
    return std::string("no run is like it: ") + error.what();
  }
  if (spec.setup.layout.ranks() == 1) return spec.generates() ? why_not_rehearsed(spec) : "";
  const bool steps_alike = !spec.critic || same_shape(spec.actor, *spec.critic);
  return steps_alike || spec.setup.layout.tp == 1 ? "" : "on tp a critic of another size";
}

int64_t StepPeak::of(std::string_view group) const {
  const auto found = groups.find(std::string(group));
  return found == groups.end() ? 0 : found->second;
}

const StepPeak& RehearsedSteps::peak(const RunSpec& run, Head head, int64_t rank) {
  const std::string key =
      std::to_string(rank) + " " + std::to_string(static_cast<int>(head)) + to_json(run).dump();
  const auto [at, is_new] = known_.try_emplace(key);
  if (is_new) {
    const Peak peak = predicted_peak(run, head, rank);
    at->second.allocated = peak.allocated;
    at->second.where = peak.where;
    for (const Row& row : peak.rows) at->second.groups[row.group] += row.bytes;
  }
  return at->second;
}

RankMemory rehearsed(const RlhfSpec& spec, const RlhfModels& models, std::optional<int64_t> bytes) {
  if (bytes && spec.setup.layout.ranks() > 1) {
    const int64_t difference = *bytes / 50;  // later steps may move the peak by this
    Ranks ranks(spec, models, *bytes + difference, /*at_once=*/true);
    ranks.consider_all();
    if (std::abs(ranks.bytes(ranks.fullest()) - *bytes) > difference) {
      return std::move(ranks.fullest());
    }
  }
  Ranks ranks(spec, models, bytes.value_or(std::numeric_limits<int64_t>::max()),
              /*at_once=*/false);
  ranks.consider_all();
  return std::move(ranks.fullest());
}

}  // namespace headroom
