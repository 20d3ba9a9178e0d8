// Memory of one rank of a pipeline stage, written component by component. No torch here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/rlhf/memory.h"

namespace headroom {

inline constexpr unsigned kWhenGenerating = bit(RlhfPhase::kGeneration);
inline constexpr unsigned kWhenScoring = bit(RlhfPhase::kScoring);
inline constexpr unsigned kWhenTraining = bit(RlhfPhase::kTraining);
inline constexpr unsigned kAlways = kWhenGenerating | kWhenScoring | kWhenTraining;

// Components of one rank: collects them, and gives their writers the spec and the rank's
// part of each model.
class RankComponents {
 public:
  using Model = RlhfModels::Model;

  // spec and models must outlive it.
  RankComponents(const RlhfSpec& spec, const RlhfModels& models, int64_t stage);

  // Drops phases that the spec does not have, and empty components.
  void add(Component component);
  void add_to_host(int64_t bytes) { memory_.offloaded_bytes += bytes; }

  const RlhfSpec& spec() const { return spec_; }
  const RlhfModels& models() const { return models_; }
  const Layout& layout() const { return spec_.setup.layout; }
  int64_t stage() const { return memory_.stage; }
  bool last_stage() const { return memory_.stage == layout().pp - 1; }
  // Gradients go to an optimizer on the host as backward makes them (ZeRO-Offload, Ren et al.
  // 2021), as in train/offload.
  bool gradients_leave() const { return spec_.setup.offloads_optimizer(); }
  bool gathers() const { return layout().zero >= 3 && layout().dp > 1; }  // weights, for a pass

  StageElements elements_here(const Model& model) const;             // parameters
  int64_t on_rank(const Model& model, const Extent& extent) const;   // bytes
  int64_t sharded(int64_t elements, int64_t from_zero_stage) const;  // a replica's shard

  // Bytes of autocast's casts of weights: of one block, and of the output head if it is here.
  int64_t block_casts(const Model& model) const;
  int64_t head_casts(const Model& model) const;

  std::vector<const Model*> trained() const;  // actor, critic
  std::vector<const Model*> all() const;      // also the reward model
  template <typename BytesOf>
  static int64_t largest(const std::vector<const Model*>& models, const BytesOf& bytes_of) {
    int64_t largest = 0;
    for (const Model* model : models) largest = std::max(largest, bytes_of(*model));
    return largest;
  }

  RankMemory take() { return std::move(memory_); }

 private:
  int64_t casts_of(const Model& model, Extent weights) const;

  const RlhfSpec& spec_;
  const RlhfModels& models_;
  RankMemory memory_;
};

// Each adds its components.
void add_states(RankComponents& rank);  // weights, gradients, optimizers; gathered and cast copies
void add_activities(
    RankComponents& rank);  // tensors of the phases: caches, activations, experience

// Everything that the first tensor-parallel rank of the first replica ever holds on this stage;
// other ranks hold at most as much. spec must be valid.
RankMemory stage_memory(const RlhfSpec& spec, const RlhfModels& models, int64_t stage);

}  // namespace headroom
