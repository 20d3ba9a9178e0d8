// The purpose of memory: a step tags the tensors that it makes. No torch header.
//
// Note [Tags]
// Rationale: an allocator sees addresses and sizes. Only the code that makes a tensor has its
//   purpose; a guess from lifetimes would hold for one workload and one optimizer.
// Approach: code that makes a lasting tensor tags it with a category, at creation or before it
//   drops the tensor. A tag applies to the storage at that address at that moment, for all of its
//   life; the later of two tags wins. Memory without a tag is either saved for backward or
//   temporary; profiling/lifetimes.h decides which.
//   When a profiler begins to listen, the step tags existing memory: parameters, master weights,
//   rotary tables, the loss scaler's numbers, gradients, optimizer state and cuBLAS's workspaces.
//   While it runs it tags the batch, gradients after each backward, optimizer state after an update
//   and workspaces at the end; AutocastGuard (train/techniques/precision.h) tags the copies that
//   autocast makes. A GradientSink tags gradients and states as it takes them.
// Limits: all views of one storage share one tag.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/enum_words.h"
#include "train/settings/memory_space.h"

namespace at {
class Tensor;
}

namespace headroom {

enum class Category {
  kParameters,
  kMasterWeights,
  kGradients,
  kOptimizerState,
  kActivations,  // from lifetimes, not tagged
  kCastCache,
  kKvCache,
  kWorkspaces,
  kTemporaries,  // also from lifetimes, not tagged
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
      {Category::kWorkspaces, "workspaces", "scratch memory of cuBLAS"},
      {Category::kTemporaries, "temporaries", "memory that is neither tagged nor saved"},
      {Category::kOther, "other", "inputs, tables, earlier allocations"}};
  return kWords;
}

inline std::string to_string(Category category) { return word_of(category); }

class MemoryTags {
 public:
  virtual ~MemoryTags() = default;
  // `name` is for display: "layers.0.ffn.w1.weight"; "" if the tensor has none.
  virtual void tag(Category category, MemorySpace space, uint64_t address,
                   const std::string& name) = 0;
};

// Tags the storage of each defined tensor; does nothing if `tags` is null. `names` go to the
// tensors in turn and repeat if there are more tensors; empty: no names.
void tag(MemoryTags* tags, Category category, const at::Tensor& tensor,
         const std::string& name = "");
void tag(MemoryTags* tags, Category category, const std::vector<at::Tensor>& tensors,
         const std::vector<std::string>& names = {});

// cuBLAS's and cuBLASLt's workspaces, which libtorch keeps in its caching allocator. Does nothing
// without CUDA.
void tag_workspaces(MemoryTags* tags);

}  // namespace headroom
