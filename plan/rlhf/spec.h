// RlhfSpec: everything that determines the memory of an RLHF iteration. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cards/cards.h"
#include "model/config.h"
#include "plan/cost/layout.h"
#include "train/optim/table.h"
#include "train/settings/memory_space.h"
#include "train/settings/vocabulary/checkpoint.h"
#include "train/settings/vocabulary/element_type.h"
#include "train/settings/vocabulary/kernels.h"
#include "train/settings/vocabulary/weights.h"

namespace headroom {

enum class Reference {
  kResident,  // on the GPU in every phase; with swapping only in scoring
  kOffload,   // in host memory; during scoring its blocks are copied one by one
  kNone,      // no reference model: no KL term
};
const EnumWords<Reference>& words_of(Reference);
std::string to_string(Reference reference);  // "resident", "offload", "none"

// The variable part: the search of plan/search/recommend.h tries its values.
struct RlhfSetup {
  Layout layout;
  int64_t micro_batch_size = 0;  // sequences of one scoring or training pass; 0 = the whole batch
  Checkpoint checkpoint;
  Reference reference = Reference::kResident;
  MemorySpace optimizer_space = MemorySpace::kDevice;  // moments, master weights, update
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
  int64_t response_len = 1024;  // generated tokens of those; 0 = nothing is generated

  // The machine. total_bytes as requested.
  Card card;
  int64_t num_gpus = 8;

  // How it runs.
  StatePrecision precision;
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  std::optional<OptimizerImpl> optimizer_impl;  // none: fused if it exists, else reference
  ElementType cache = ElementType::kBf16;       // keys and values
  Attention attention = Attention::kSdpa;
  RlhfSetup setup;

  OptimizerImpl implementation() const;
  int64_t micro_batch() const;    // sequences
  int64_t micro_batches() const;  // passes over the batch
  int64_t prompt_len() const { return seq_len - response_len; }
  bool generates() const { return response_len > 0; }
  bool scores() const { return critic || reward || setup.reference != Reference::kNone; }
};

// True if tensor parallelism of this width divides every model.
bool tp_divides_all(const RlhfSpec& spec, int64_t tp);

// The usual starting point: the widest tensor parallelism that divides every model and the GPUs,
// the rest replicas.
Layout usual_layout(const RlhfSpec& spec);

// True if every sum of a plan stays below 2^62 bytes.
bool is_computable(const RlhfSpec& spec);

// Throws UsageError, one line that names the flag: a layout that is not num_gpus, tp that does not
// divide a model or exceeds a node, more stages than layers, a micro-batch above the batch, a
// sequence beyond the context or not longer than its response, sizes beyond 2^62 bytes.
void validate(const RlhfSpec& spec);

}  // namespace headroom
