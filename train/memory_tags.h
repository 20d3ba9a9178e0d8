// What a step says of the memory it makes: whose it is. No torch header.
//
// Note [The step says what is whose]
// Rationale: an allocator knows addresses and sizes. What a block is for, only its maker knows;
//   guessed afterwards from when it came and went, it holds for one workload and one optimizer.
// Approach: whoever makes a tensor that stays tags it for a category, where it is made or, at
//   the latest, before it lets go of it. A tag is of the storage that lives at that address at
//   that moment, for all of its life; the later of two tags holds. What nobody tags is what the
//   step made in passing: saved for backward or temporary, by profiling/lifetimes.h.
//   The Step tags when somebody begins to listen what is there: parameters, master weights,
//   rotary tables, the loss scaler's numbers, gradients, optimizer state, cuBLAS's workspaces. As
//   it runs: the batch when a run begins, gradients when a backward ends, optimizer state when an
//   update ends, workspaces when a run ends; AutocastGuard (train/precision.h) what autocast casts,
//   as it does. Gradients that are gone before backward ends, because an optimizer runs inside it,
//   are tagged there, and the state after each update: train/update/gradient_release.h.
// Limits: views and shares of one storage are one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/enum_words.h"
#include "train/memory_space.h"

namespace at {
class Tensor;
}

namespace headroom {

enum class Category {
  kParameters,
  kMasterWeights,
  kGradients,
  kOptimizerState,
  kActivations,  // told from lifetimes, not tagged
  kCastCache,
  kKvCache,
  kWorkspaces,
  kTemporaries,  // likewise
  kOther,
};

inline const EnumWords<Category>& words_of(Category) {
  static const EnumWords<Category> kWords = {
      {Category::kParameters, "parameters", "weights that are trained"},
      {Category::kMasterWeights, "master_weights", "FP32 copies that the optimizer updates"},
      {Category::kGradients, "gradients", "of the parameters"},
      {Category::kOptimizerState, "optimizer_state", "moments and step counts"},
      {Category::kActivations, "activations", "saved for backward"},
      {Category::kCastCache, "cast_cache", "low-precision copies of weights"},
      {Category::kKvCache, "kv_cache", "keys and values of earlier tokens, in generation"},
      {Category::kWorkspaces, "workspaces", "what cuBLAS computes in"},
      {Category::kTemporaries, "temporaries", "what nobody tags and nothing saves"},
      {Category::kOther, "other", "inputs, tables, what was there before"}};
  return kWords;
}

inline std::string to_string(Category category) { return word_of(category); }

class MemoryTags {
 public:
  virtual ~MemoryTags() = default;
  // `name` is for people: "layers.0.ffn.w1.weight"; "" where the tensor has none.
  virtual void tag(Category category, MemorySpace space, uint64_t address,
                   const std::string& name) = 0;
};

// Tags the storage of each tensor that is defined. Nothing where nobody listens. The names are of
// the tensors in turn, and begin anew where there are more tensors; none: they have no names.
void tag(MemoryTags* tags, Category category, const at::Tensor& tensor,
         const std::string& name = "");
void tag(MemoryTags* tags, Category category, const std::vector<at::Tensor>& tensors,
         const std::vector<std::string>& names = {});

// cuBLAS's and cuBLASLt's workspaces, which libtorch keeps in its caching allocator. Nothing where
// no CUDA is in use.
void tag_workspaces(MemoryTags* tags);

}  // namespace headroom
