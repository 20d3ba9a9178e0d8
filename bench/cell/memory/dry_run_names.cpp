#include "bench/cell/memory/dry_run_names.h"

#include <dlfcn.h>

namespace headroom {
namespace {

// The functions that libheadroom_blocks.so exports. They are null unless `headroom dryrun` has
// loaded that library.
struct BreakdownCalls {
  template <typename F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }
  int (*name_memory)(const void* address, const char* use, const char* owner) =
      find<int(const void*, const char*, const char*)>("headroom_name_memory");
  void (*step_begins)() = find<void()>("headroom_step_begins");
  void (*step_ends)(const char* optimizer) = find<void(const char*)>("headroom_step_ends");

  bool are_heard() const { return name_memory && step_begins && step_ends; }
};
const BreakdownCalls& breakdown() {
  static const BreakdownCalls calls;
  return calls;
}

// Returns the breakdown's name of the use, or null if the breakdown finds the use by itself.
const char* use_of(Category category) {
  switch (category) {
    case Category::kParameters:
      return "parameters";
    case Category::kMasterWeights:
      return "master weights";
    case Category::kGradients:
      return "gradients";
    case Category::kOptimizerState:
      return "optimizer state";
    case Category::kKvCache:
      return "KV cache";
    case Category::kOther:
      return "other tensors of the program";
    default:
      return nullptr;
  }
}

bool is_of_optimizer(Category category) {
  return category == Category::kMasterWeights || category == Category::kOptimizerState;
}

}  // namespace

DryRunNames::DryRunNames(const std::string& optimizer, ScopeListener* scopes, MemoryTags* tags)
    : optimizer_(optimizer + " (optimizer)"), scopes_(scopes), tags_(tags) {}

ScopeListener* DryRunNames::scopes() { return breakdown().are_heard() ? this : scopes_; }
MemoryTags* DryRunNames::tags() { return breakdown().are_heard() ? this : tags_; }

// An update inside backward is a part of it: there is no step for each parameter.
void DryRunNames::on_scope(const Scope& scope, bool begins) {
  if (scope.kind == ScopeKind::kBackward) backwards_ += begins ? 1 : -1;
  if (backwards_ == 0 && scope.is_phase() && scope.name == "optimizer") {
    if (begins) {
      breakdown().step_begins();
    } else {
      breakdown().step_ends(optimizer_.c_str());
    }
  }
  if (scopes_ != nullptr) scopes_->on_scope(scope, begins);
}

void DryRunNames::tag(Category category, MemorySpace space, uint64_t address,
                      const std::string& name) {
  const char* const use = use_of(category);
  if (use != nullptr && space == MemorySpace::kDevice) {
    breakdown().name_memory(reinterpret_cast<const void*>(address), use,
                            is_of_optimizer(category) ? optimizer_.c_str() : "");
  }
  if (tags_ != nullptr) tags_->tag(category, space, address, name);
}

}  // namespace headroom
