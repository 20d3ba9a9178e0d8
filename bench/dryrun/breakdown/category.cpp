#include "bench/dryrun/breakdown/category.h"

namespace headroom {
namespace {

Category of_forward(const Life& life) {
  const bool is_kept = life.died_in_backward || (life.has_module && life.outlived_forward);
  if (is_kept) return Category::kActivations;
  if (!life.is_live) return Category::kTemporaries;
  if (!life.is_call_over) {
    return life.has_grad_mode ? Category::kRunningForward : Category::kTemporaries;
  }
  return life.has_grad_mode ? Category::kActivations : Category::kProgram;
}

// Backward runs a forward again and frees all that it made.
Category of_recomputation(const Life& life) {
  if (life.is_call_over) return Category::kActivations;
  return life.is_live ? Category::kRunningForward : Category::kTemporaries;
}

}  // namespace

std::string_view category_name(Category category) {
  switch (category) {
    case Category::kParameters:
      return "parameters";
    case Category::kBuffers:
      return "buffers";
    case Category::kGradients:
      return "gradients";
    case Category::kOptimizerState:
      return "optimizer state";
    case Category::kMasterWeights:
      return "master weights";
    case Category::kActivations:
      return "activations";
    case Category::kRunningForward:
      return "running forward";
    case Category::kTemporaries:
      return "temporaries";
    case Category::kCommunication:
      return "communication buffers";
    case Category::kCache:
      return "KV cache";
    case Category::kGraphPools:
      return "CUDA graph pools";
    case Category::kWorkspaces:
      return "workspaces";
    case Category::kProgram:
      return "other tensors of the program";
    case Category::kRounding:
      return "allocator rounding";
    case Category::kNotAttributed:
      return "not attributed";
  }
  return "";
}

std::optional<Category> category_of_name(std::string_view name) {
  for (int i = 0; i < static_cast<int>(Category::kRounding); ++i) {
    if (name == category_name(static_cast<Category>(i))) return static_cast<Category>(i);
  }
  return std::nullopt;
}

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kOutside:
      return "outside";
    case Phase::kForward:
      return "forward";
    case Phase::kRecomputation:
      return "recomputation";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
  }
  return "";
}

Category category_of(const Life& life) {
  if (life.tag != Category::kNotAttributed) return life.tag;
  if (life.in_pool) return Category::kGraphPools;
  switch (life.hint) {
    case Hint::kCommunication:
      return Category::kCommunication;
    case Hint::kCache:
      return Category::kCache;
    case Hint::kMoved:
      return Category::kParameters;
    case Hint::kNone:
      break;
  }
  switch (life.born) {
    case Phase::kForward:
      return of_forward(life);
    case Phase::kRecomputation:
      return of_recomputation(life);
    case Phase::kBackward:
      return life.is_live && life.is_call_over ? Category::kProgram : Category::kTemporaries;
    case Phase::kOptimizer:
      return life.is_live && life.is_call_over ? Category::kNotAttributed : Category::kTemporaries;
    case Phase::kOutside:
      break;
  }
  return life.died_in_backward ? Category::kActivations : Category::kProgram;
}

std::string_view reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kOptimizer:
      return "made by an optimizer, which keeps it outside its state";
    case Reason::kNoModules:
      return "made outside of backward and of steps; in C++ no module says when it runs";
    case Reason::kNoEvent:
      return "the allocator reported no event for it";
  }
  return "";
}

}  // namespace headroom
