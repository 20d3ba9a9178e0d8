#include "plan/rlhf/iteration.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "plan/rlhf/rehearsed.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/phase_components.h"
#include "text/quantity.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {
namespace {

// Settings of one role, by their names in RunSpec.
using Settings = std::map<std::string, std::string>;

void set_shape(Settings& settings, const ModelConfig& config) {
  settings["model_size"] = "custom";
  for (const Dimension& dimension : kDimensions) {
    settings[dimension.name] = std::to_string(config.*dimension.size);
  }
}

// Frozen models are kept in low precision, independent of the trained ones.
void set_frozen(Settings& settings, const StatePrecision& precision) {
  if (precision.low == precision.weight) return;
  settings["weights"] = "bf16";
  settings["precision"] = "fp32";
}

ReferencePlace place_of(Reference reference) {
  if (reference == Reference::kNone) return ReferencePlace::kNone;
  return reference == Reference::kOffload ? ReferencePlace::kOffload : ReferencePlace::kResident;
}

PpoSetup setup_of(const RlhfSpec& spec) {
  PpoSetup setup{.reference = place_of(spec.setup.reference),
                 .swap_phases = spec.setup.swap_phases};
  setup.ppo.epochs = 2;
  if (spec.critic) {
    set_shape(setup.of_role[Role::kCritic], *spec.critic);
  } else {
    setup.ppo.algorithm = PpoAlgorithm::kGrpo;
    setup.ppo.group_size = spec.batch_size;
  }
  if (spec.reward) {
    setup.reward_size = "";
    set_shape(setup.of_role[Role::kReward], *spec.reward);
    set_frozen(setup.of_role[Role::kReward], spec.precision);
  }
  if (setup.reference != ReferencePlace::kNone) {
    set_frozen(setup.of_role[Role::kReference], spec.precision);
  }
  return setup;
}

const char* name_of_made(RlhfPhase phase) {
  if (phase == RlhfPhase::kGeneration) return "Prefill and sampling";
  return phase == RlhfPhase::kScoring ? "Activations (scoring)" : "Activations";
}

// Outside the allocator: the CUDA context.
bool is_outside(const Component& component) { return std::string(component.basis) != "computed"; }

// Components of one GPU, from rehearsed phases.
class IterationWriter {
 public:
  IterationWriter(RankMemory added_up, const std::vector<PhasePeak>& peaks, bool swap_phases)
      : memory_(std::move(added_up)), swap_phases_(swap_phases) {
    std::erase_if(memory_.components, [](const Component& one) {
      return !one.resident || (one.kind == ComponentKind::kContext && !is_outside(one));
    });
    for (const PhasePeak& peak : peaks) phases_.push_back({peak, by_component(peak)});
  }

  RankMemory write() {
    always("Tokens, tables", ComponentKind::kExperience, kBesideModels);
    always("cuBLAS workspaces", ComponentKind::kContext, kWorkspaces);
    for (const RlhfPhase phase : kRlhfPhases) {
      if ((memory_.phases & bit(phase)) != 0) write(phase);
    }
    return std::move(memory_);
  }

 private:
  struct Phase {
    const PhasePeak& peak;
    std::map<std::string, int64_t> components;
    int64_t of(const std::string& component) const {
      const auto found = components.find(component);
      return found == components.end() ? 0 : found->second;
    }
  };
  const Phase& in(RlhfPhase phase) const { return phases_.at(static_cast<size_t>(phase)); }

  void add(Component component) {
    if (component.bytes > 0) memory_.components.push_back(component);
  }

  // Adds the bytes that every phase has of the component.
  void always(const char* name, ComponentKind kind, const char* component) {
    int64_t least = in(RlhfPhase::kTraining).of(component);
    for (const Phase& phase : phases_) least = std::min(least, phase.of(component));
    add({.name = name,
         .kind = kind,
         .bytes = least,
         .needed = memory_.phases,
         .resident = kind == ComponentKind::kContext,
         .scales = kind == ComponentKind::kExperience,
         .why = kind == ComponentKind::kContext ? "libtorch's default, one for each thread's handle"
                                                : "int64 tokens, the mask; rotary tables"});
  }

  int64_t there(RlhfPhase phase, const std::string& name) const {
    int64_t bytes = 0;
    for (const Component& one : memory_.components) {
      if (one.name == name && one.on_gpu_in(phase, swap_phases_)) bytes += one.bytes;
    }
    return bytes;
  }

  // Adds the phase's bytes of a component beyond those already written.
  void add_rest(RlhfPhase phase, const char* component, const char* written, Component as) {
    as.bytes = in(phase).of(component) - there(phase, written);
    as.needed = bit(phase);
    add(as);
  }

  void write(RlhfPhase phase) {
    const Phase& here = in(phase);
    if (phase == RlhfPhase::kGeneration) {
      add_rest(phase, kCacheComponent, "",
               {.name = "KV cache",
                .kind = ComponentKind::kKvCache,
                .scales = true,
                .why = "2 x layers x key/value heads x head dimension x bytes x tokens"});
    }
    add_rest(phase, "reference weights", kReferenceWeights.data(),
             {.name = kReferenceWeights.data(),
              .kind = ComponentKind::kWeights,
              .why = "its blocks are in host memory; the part on the GPU"});
    add_rest(phase, "actor gradients", "",
             {.name = kActorNames.gradients,
              .kind = ComponentKind::kGradients,
              .why = "those live at the phase's fullest instant"});
    add_rest(phase, "critic gradients", "",
             {.name = kCriticNames.gradients,
              .kind = ComponentKind::kGradients,
              .why = "those live at the phase's fullest instant"});
    add_rest(phase, kActivations, "",
             {.name = name_of_made(phase),
              .kind = ComponentKind::kActivations,
              .scales = true,
              .why = "made by the phase and live at its fullest instant, temporaries included"});
    add_rest(phase, kBesideModels, "Tokens, tables",
             {.name = "PPO scores",
              .kind = ComponentKind::kExperience,
              .scales = true,
              .why = "log-probabilities, values, rewards, advantages, returns per response token"});
    add_rest(phase, kWorkspaces, "cuBLAS workspaces",
             {.name = "cuBLAS workspace, backward",
              .kind = ComponentKind::kContext,
              .why = "autograd's thread has a handle of its own"});
    add_remainder(phase, here.peak);
  }

  // Adds the allocated bytes that belong to no component.
  void add_remainder(RlhfPhase phase, const PhasePeak& peak) {
    int64_t left = peak.allocated;
    for (const Component& one : memory_.components) {
      if (!is_outside(one) && one.on_gpu_in(phase, swap_phases_)) left -= one.bytes;
    }
    add({.name = "Allocator's rounding",
         .kind = ComponentKind::kContext,
         .bytes = left,
         .needed = bit(phase),
         .why = "blocks are larger than the requests; next states of the update"});
  }

  RankMemory memory_;
  bool swap_phases_;
  std::vector<Phase> phases_;
};

}  // namespace

PpoRun ppo_run_of(const RlhfSpec& spec) {
  PpoRun run{.shared = step_run_of(spec, spec.actor), .setup = setup_of(spec)};
  RunSpec& shared = run.shared;
  shared.micro_batches = 1;
  shared.batch_size = spec.batch_size;
  shared.prompt_len = spec.prompt_len();
  shared.response_len = spec.response_len;
  shared.temperature = 1;
  shared.max_grad_norm = 1;
  find_field("kv_cache_dtype")->set(shared, to_string(spec.cache));
  if (spec.micro_batch() < spec.batch_size) {
    shared.prefill_chunk = spec.micro_batch() * spec.prompt_len();
    run.setup.ppo.max_tokens_per_micro_batch = spec.micro_batch() * spec.seq_len;
  }
  shared.profile_type = Mode::kTraining;
  if (spec.setup.offloads_optimizer()) {
    shared.optimizer_offload.space = spec.setup.optimizer_space;
    shared.optimizer_impl = OptimizerImpl::kReference;
    if (spec.precision.master > 0) shared.master_weights = MasterCopy::kFp32;
  }
  return run;
}

std::string why_not_rehearsed(const RlhfSpec& spec) {
  if (!spec.critic && spec.batch_size < 2) return "without a critic, a group has two responses";
  const PpoRun run = ppo_run_of(spec);
  try {
    validate(run.shared, run.setup);
  } catch (const UsageError& error) {
    return error.what();
  }
  const std::vector<std::string> flags = not_rehearsed(run.shared, run.setup);
  return flags.empty() ? "" : flags.front() + " is not rehearsed";
}

const std::vector<PhasePeak>& RehearsedIterations::phases(const PpoRun& run) {
  const std::string key = to_json(run.shared).dump() + to_json(run.setup).dump();
  const auto [at, is_new] = known_.try_emplace(key);
  if (is_new) at->second = predicted_iteration(run.shared, run.setup);
  return at->second;
}

RankMemory rehearsed_iteration(const RlhfSpec& spec, const RlhfModels& models,
                               const RankMemory& added_up) {
  const std::vector<PhasePeak>& peaks = models.iterations->phases(ppo_run_of(spec));
  RankMemory memory = IterationWriter(added_up, peaks, spec.setup.swap_phases).write();
  memory.training = "of a whole iteration that was rehearsed; fullest in " + peaks.back().where;
  return memory;
}

}  // namespace headroom
