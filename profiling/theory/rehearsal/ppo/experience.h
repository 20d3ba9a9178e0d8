// A rollout's result, and its sequences as they go through a model, with shapes for tensors.
// Read beside train/ppo/phases/experience.h and train/ppo/phases/passes.h. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/generate/pass.h"
#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

// Like Experience, all prompts of one length, and all responses: on a virtual card nothing ends
// early.
struct ShapeExperience {
  int64_t prompt = 0;    // tokens
  int64_t response = 0;  // likewise
  ShapeTensor tokens_BS, mask_BR;
  ShapeTensor log_probs_BR, reference_log_probs_BR, values_BR, scores_B, rewards_BR, advantages_BR,
      returns_BR;

  int64_t sequences() const { return mask_BR.size(0); }
  ShapeTensor zeros_BR() const;
};

// `response` tokens each.
ShapeExperience make_shape_experience(ShapeTensor tokens_BS, int64_t response);

// Like PassRows.
struct ShapeRows {
  ShapeTensor tokens_1S;
  std::shared_ptr<const ShapeLayout> pass, ends;
  ShapeTensor cells_T, targets_T, owners_T, sequences_B;
};
ShapeRows rows_of(const ShapeExperience& experience, int64_t sequences);

ShapeTensor of_rows(const ShapeTensor& of_all_BR, const ShapeRows& rows);

// So many sequences in passes of at most so many tokens each; 0: in one.
std::vector<ShapeRows> passes_of(const ShapeExperience& experience, int64_t sequences,
                                 int64_t max_tokens);

}  // namespace headroom
