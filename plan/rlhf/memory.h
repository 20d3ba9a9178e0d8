// Memory of one rank in each phase of an RLHF iteration, component by component. No torch here.
//
// Start here: worst_rank(). A phase's total is the sum of its components and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cost/model_cost.h"
#include "plan/rlhf/spec.h"

namespace headroom {

enum class ComponentKind {
  kWeights,
  kGradients,
  kOptimizer,
  kKvCache,
  kActivations,
  kExperience,
  kContext
};

enum class RlhfPhase { kGeneration, kScoring, kTraining };
inline constexpr std::array<RlhfPhase, 3> kRlhfPhases = {RlhfPhase::kGeneration,
                                                         RlhfPhase::kScoring, RlhfPhase::kTraining};
std::string to_string(RlhfPhase phase);  // "generation"

// Note [Resident, needed, idle]
// Rationale: a phase's memory is its own need and everything other phases left on the GPU.
// Approach: weights and optimizer states are resident: they stay through every phase unless phases
//   are swapped or they are offloaded. Everything else is made when a phase begins and freed with
//   it: caches, gradients, activations. A resident component is idle in a phase that does not need
//   it: --swap-phases removes it there.
// Limits: gradients are freed with the training phase (zero_grad ends an iteration); frameworks
//   that keep their buffers hold them in every phase.
struct Component {
  const char* name = "";
  ComponentKind kind = ComponentKind::kWeights;
  int64_t bytes = 0;
  unsigned needed = 0;    // bits of phases, see bit()
  bool resident = false;  // else made and freed within the phase
  bool trained = false;   // a resident one that training changes: swapping it out costs a copy
  bool scales = false;    // grows with the batch
  bool in_step = false;   // only in the training step; a rehearsal replaces it
  const char* basis = "computed";  // or from the card table: "measured", "assumed"
  const char* why = "";            // formula or reason, one line

  bool needed_in(RlhfPhase phase) const;
  // Needed, or idle but not swapped out.
  bool on_gpu_in(RlhfPhase phase, bool swap_phases) const;
};
inline constexpr std::string_view kReferenceWeights = "Reference model (weights)";
inline constexpr std::string_view kGradientsInFlight = "Gradients in flight";
inline constexpr const char* kGatheredInStep = "Gathered layers (training)";
inline constexpr std::string_view kKeptForBackward = "Activations";

// Names of a trained model's states.
struct StepNames {
  const char* weights;
  const char* gradients;
  const char* optimizer;
};
inline constexpr StepNames kActorNames = {"Actor (weights)", "Actor (gradients)",
                                          "Actor (optimizer)"};
inline constexpr StepNames kCriticNames = {"Critic (weights)", "Critic (gradients)",
                                           "Critic (optimizer)"};
constexpr unsigned bit(RlhfPhase phase) { return 1U << static_cast<unsigned>(phase); }

// Everything that one rank of a pipeline stage ever holds.
struct RankMemory {
  int64_t stage = 0;
  unsigned phases = 0;  // bits of the spec's phases
  std::vector<Component> components;
  std::string training;  // the method for the training phase, in one line

  // Components on the GPU in a phase; without swapping also the idle ones.
  std::vector<Component> in_phase(RlhfPhase phase, bool swap_phases) const;
  int64_t phase_bytes(RlhfPhase phase, bool swap_phases) const;
  int64_t peak_bytes(bool swap_phases) const;  // of the fullest phase
  // Host memory of this rank: offloaded memory and, with swapping, copies of all swapped states.
  int64_t host_bytes(bool swap_phases) const;
  int64_t offloaded_bytes = 0;
};
int64_t sum(const std::vector<Component>& components);
std::vector<Component> largest_first(std::vector<Component> components);

// The spec's phases, in order.
std::vector<RlhfPhase> phases_of(const RlhfSpec& spec);

class RehearsedSteps;
class RehearsedIterations;

// The models' rows of theory, the same for every layout. Computed once, read often.
class RlhfModels {
 public:
  // Costs of a micro-batch are computed for spec.micro_batch() and spec.attention.
  explicit RlhfModels(const RlhfSpec& spec);
  // Shares the rehearsals of another spec.
  RlhfModels(const RlhfSpec& spec, const RlhfModels& known);

  struct Model {
    ModelElements elements;
    BatchCost cost;
  };
  Model actor;
  std::optional<Model> critic, reward;
  BatchCost prefill;  // the actor's, over a micro-batch's prompts
  // Rehearsals done so far.
  std::shared_ptr<RehearsedSteps> steps;
  std::shared_ptr<RehearsedIterations> iterations;
};

// One training micro-batch with that many tokens per sequence.
BatchShape batch_shape(const RlhfSpec& spec, int64_t tokens);

// The stages that can be the fullest: the first (token table, most micro-batches in flight), the
// second, the last (output head). Summed from rows. spec must be valid; models of the same spec.
std::vector<RankMemory> rank_memories(const RlhfSpec& spec, const RlhfModels& models);

// The rank with the highest peak: Note [An iteration on one GPU], Note [The training phase]. bytes:
// only the comparison with it must be right; the peak may be a fiftieth off if it is further away
// than that.
RankMemory worst_rank(const RlhfSpec& spec, const RlhfModels& models,
                      std::optional<int64_t> bytes = std::nullopt);

// added_up: the same, summed from rows. least_bytes: a lower bound for either method: the states,
// all gradients when the update begins, the whole cache when generation ends.
RankMemory added_up(const RlhfSpec& spec, const RlhfModels& models);
int64_t least_bytes(const RlhfSpec& spec, const RankMemory& added_up);

// "stage 0 of 2: token table, layers 0 to 39", "every GPU" without a pipeline.
std::string rank_in_words(const RlhfSpec& spec, int64_t stage);

// KV cache of one rank: keys and values of its layers and heads, for whole blocks of 16 tokens.
inline constexpr int64_t kTokensPerBlock = 16;
int64_t kv_cache_bytes(const RlhfSpec& spec, int64_t stage);

}  // namespace headroom
