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
// Rationale: what a phase takes is what it needs, and whatever the other phases left on the GPU.
// Approach: weights and optimizer states are resident: they stay through every phase unless
//   phases are swapped or they are offloaded. Everything else is made when a phase begins and dies
//   with it: caches, gradients, activations. A resident component of a phase that does not need it
//   is idle: this is what --swap-phases takes away.
// Limits: gradients die with the training phase (zero_grad ends a loop's turn); frameworks that
//   keep their buffers hold them in every phase.
struct Component {
  const char* name = "";
  ComponentKind kind = ComponentKind::kWeights;
  int64_t bytes = 0;
  unsigned needed = 0;    // bits of phases, see bit()
  bool resident = false;  // else it is made and dropped within the phase
  bool trained = false;   // a resident one that training changes: moving it out costs a copy
  bool scales = false;    // grows with the batch
  bool in_step = false;   // the training step's alone: what a rehearsal of it stands for
  const char* basis = "computed";  // or a figure of the card table: "measured", "assumed"
  const char* why = "";            // formula or reason, one line

  bool needed_in(RlhfPhase phase) const;
  // Needed, or idle and not swapped out.
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

// Everything one rank of a pipeline stage ever holds.
struct RankMemory {
  int64_t stage = 0;
  unsigned phases = 0;  // bits of those that the spec has
  std::vector<Component> components;
  std::string training;  // how the training phase was found, in one line

  // What is on the GPU in a phase; without swapping with the idle ones.
  std::vector<Component> in_phase(RlhfPhase phase, bool swap_phases) const;
  int64_t phase_bytes(RlhfPhase phase, bool swap_phases) const;
  int64_t peak_bytes(bool swap_phases) const;  // of the fullest phase
  // In host memory for this rank: what is offloaded and, swapping, a copy of all that is ever out.
  int64_t host_bytes(bool swap_phases) const;
  int64_t offloaded_bytes = 0;
};
int64_t sum(const std::vector<Component>& components);
std::vector<Component> largest_first(std::vector<Component> components);

// The phases that the spec has, in their order.
std::vector<RlhfPhase> phases_of(const RlhfSpec& spec);

class RehearsedSteps;
class RehearsedIterations;

// What is the same for every layout: the models' rows of theory. Computed once, asked often.
class RlhfModels {
 public:
  // Costs of a micro-batch are computed for spec.micro_batch() and spec.attention.
  explicit RlhfModels(const RlhfSpec& spec);
  // With what was rehearsed for another spec.
  RlhfModels(const RlhfSpec& spec, const RlhfModels& known);

  struct Model {
    ModelElements elements;
    BatchCost cost;
  };
  Model actor;
  std::optional<Model> critic, reward;
  BatchCost prefill;  // of the actor over a micro-batch's prompts
  // Of set-ups for one GPU that were asked for.
  std::shared_ptr<RehearsedSteps> steps;
  std::shared_ptr<RehearsedIterations> iterations;
};

// One micro-batch of training, of that many tokens a sequence.
BatchShape batch_shape(const RlhfSpec& spec, int64_t tokens);

// The stages that can be the fullest: the first (token table, most micro-batches in flight), the
// second, the last (output head). Added up from rows. spec must be valid; models of the same spec.
std::vector<RankMemory> rank_memories(const RlhfSpec& spec, const RlhfModels& models);

// The rank with the highest peak; how: Note [An iteration on one GPU], Note [The training phase].
// bytes: whether so many are enough is all that is asked; its peak may be a fiftieth off where it
// is further from them.
RankMemory worst_rank(const RlhfSpec& spec, const RlhfModels& models,
                      std::optional<int64_t> bytes = std::nullopt);

// The same, added up; and what it certainly needs, however its phases are found: the states, all
// gradients when the update begins, the whole cache when generation ends.
RankMemory added_up(const RlhfSpec& spec, const RlhfModels& models);
int64_t least_bytes(const RlhfSpec& spec, const RankMemory& added_up);

// "stage 0 of 2: token table, layers 0 to 39", "every GPU" without a pipeline.
std::string rank_in_words(const RlhfSpec& spec, int64_t stage);

// KV cache of one rank: keys and values of its layers and heads, for whole blocks of 16 tokens.
inline constexpr int64_t kTokensPerBlock = 16;
int64_t kv_cache_bytes(const RlhfSpec& spec, int64_t stage);

}  // namespace headroom
