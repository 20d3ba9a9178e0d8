// A model small enough to compute by hand, and a spec around it.
#pragma once

#include "plan/rlhf/rank_components.h"

namespace headroom {

// Parameters: token table 80; a block 64 + 64 + 32 + 32 (attention), 3 x 128 (feed-forward), 16
// (norms) = 592; last norm 8; output head 80. In all 80 + 4 x 592 + 8 + 80 = 2536.
inline ModelConfig small_model() {
  return {.name = "custom",
          .d_model = 8,
          .d_ff = 16,
          .layers = 4,
          .heads = 4,
          .kv_heads = 2,
          .vocab_size = 10};
}

inline RlhfSpec small_plan() {
  RlhfSpec spec;
  spec.actor = small_model();
  spec.critic = small_model();
  spec.reward = small_model();
  spec.batch_size = 2;
  spec.seq_len = 16;
  spec.response_len = 6;
  spec.card = find_card("h100-80gb");
  spec.num_gpus = 1;
  spec.precision = find_state_precision("bf16-mixed");
  return spec;
}

inline RankMemory memory_of(const RlhfSpec& spec, int64_t stage = 0) {
  return stage_memory(spec, RlhfModels(spec), stage);
}

// Bytes of the phase's components of that name; 0 if there is none.
inline int64_t bytes_of(const RankMemory& memory, const std::string& name,
                        RlhfPhase phase = RlhfPhase::kTraining) {
  int64_t bytes = 0;
  for (const Component& component : memory.components) {
    if (component.name == name && component.needed_in(phase)) bytes += component.bytes;
  }
  return bytes;
}

}  // namespace headroom
