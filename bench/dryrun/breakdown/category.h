// The use of a block of the allocator, from the moments of its life. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

// In the order of the report.
enum class Category : uint8_t {
  kParameters,
  kBuffers,
  kGradients,
  kOptimizerState,
  kMasterWeights,   // FP32 copies of a module's weights, held by an optimizer
  kActivations,     // kept for backward
  kRunningForward,  // made by a module whose forward had not returned
  kTemporaries,
  kCommunication,
  kCache,  // of keys and values
  kGraphPools,
  kWorkspaces,
  kProgram,  // held by the program, outside of modules
  kRounding,
  kNotAttributed,
};
inline constexpr int kCategories = static_cast<int>(Category::kNotAttributed) + 1;

// "optimizer state".
std::string_view category_name(Category category);
// The reverse, of a use that a program may name: neither its rounding nor an unknown one.
std::optional<Category> category_of_name(std::string_view name);

// The phase of the program on a thread.
enum class Phase : uint8_t { kOutside, kForward, kRecomputation, kBackward, kOptimizer };
std::string_view phase_name(Phase phase);

// Known from the stack, where nothing better is.
enum class Hint : uint8_t { kNone, kMoved, kCommunication, kCache };

// The moments of a block.
struct Life {
  Category tag = Category::kNotAttributed;  // found by its owner; kNotAttributed: by none
  Phase born = Phase::kOutside;
  Hint hint = Hint::kNone;
  bool has_grad_mode = false;
  bool has_module = false;
  bool in_pool = false;       // of a CUDA graph, or another private pool
  bool is_live = true;        // at the moment of the question
  bool is_call_over = false;  // its forward, backward or step had ended when it was freed, or now
  bool died_in_backward = false;
  bool outlived_forward = false;  // a backward began while it was live
};

Category category_of(const Life& life);

// Why a block is kNotAttributed.
enum class Reason : uint8_t { kNone, kOptimizer, kNoModules, kNoEvent };
std::string_view reason_text(Reason reason);

}  // namespace headroom
