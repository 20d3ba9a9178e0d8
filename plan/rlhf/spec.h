// RlhfSpec: everything that decides what memory an RLHF iteration needs. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cards/cards.h"
#include "model/config.h"
#include "plan/cost/layout.h"
#include "train/memory_space.h"
#include "train/optim/table.h"
#include "train/vocabulary/checkpoint.h"
#include "train/vocabulary/element_type.h"
#include "train/vocabulary/kernels.h"
#include "train/vocabulary/weights.h"

namespace headroom {

enum class Reference {
  kResident,  // on the GPU in every phase, or where swapped, in scoring
  kOffload,   // in host memory; its blocks come over one by one while it scores
  kNone,      // no reference model: no KL term
};
const EnumWords<Reference>& words_of(Reference);
std::string to_string(Reference reference);  // "resident", "offload", "none"

// What may be changed to make it fit: what the search of plan/search/recommend.h tries.
struct RlhfSetup {
  Layout layout;
  int64_t micro_batch_size = 0;  // sequences of one scoring or training pass; 0 = the whole batch
  Checkpoint checkpoint;
  Reference reference = Reference::kResident;
  MemorySpace optimizer_space = MemorySpace::kDevice;  // of moments, master weights and the update
  bool swap_phases = false;  // a phase's idle models and states are in host memory

  bool offloads_optimizer() const { return optimizer_space != MemorySpace::kDevice; }
};

struct RlhfSpec {
  // The models. Critic and reward have one output instead of the vocabulary.
  ModelConfig actor;                  // the reference has the same shape
  std::optional<ModelConfig> critic;  // none: no value function (GRPO, supervised training)
  std::optional<ModelConfig> reward;  // none: rewards by rule

  // The batch.
  int64_t batch_size = 4;       // sequences of one data-parallel replica, generated at once
  int64_t seq_len = 2048;       // prompt and response
  int64_t response_len = 1024;  // of that: generated tokens; 0 = nothing is generated

  // The machine. total_bytes as asked for.
  Card card;
  int64_t num_gpus = 8;

  // How it is run.
  StatePrecision precision;
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  std::optional<OptimizerImpl> optimizer_impl;  // none: fused where there is one, else reference
  ElementType cache = ElementType::kBf16;       // of keys and values
  Attention attention = Attention::kSdpa;
  RlhfSetup setup;

  OptimizerImpl implementation() const;
  int64_t micro_batch() const;    // sequences
  int64_t micro_batches() const;  // passes over the batch
  int64_t prompt_len() const { return seq_len - response_len; }
  bool generates() const { return response_len > 0; }
  bool scores() const { return critic || reward || setup.reference != Reference::kNone; }
};

// Whether tensor parallelism of this width divides every model.
bool tp_divides_all(const RlhfSpec& spec, int64_t tp);

// The widest tensor parallelism that divides every model and the GPUs, the rest replicas: how one
// usually begins.
Layout usual_layout(const RlhfSpec& spec);

// Whether every sum of a plan stays below 2^62 bytes.
bool is_computable(const RlhfSpec& spec);

// Throws UsageError, one line, naming the flag: a layout that is not num_gpus, tp that divides no
// heads or leaves the node, more stages than layers, a sequence beyond the model's context or no
// longer than its response, sizes beyond 2^62 bytes, a reference model larger than the card.
void validate(const RlhfSpec& spec);

}  // namespace headroom
