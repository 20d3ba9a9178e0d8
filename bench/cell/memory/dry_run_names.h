// Tells `headroom dryrun --breakdown` the uses of a step's memory; see Note [Named by the program]
// (bench/dryrun/breakdown/program_names.h). No torch here.
#pragma once

#include <string>

#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"

namespace headroom {

// Forwards every scope and every tag. Without such a dry run it does nothing else.
class DryRunNames final : public ScopeListener, public MemoryTags {
 public:
  // optimizer: the owner of states, "adamw".
  DryRunNames(const std::string& optimizer, ScopeListener* scopes, MemoryTags* tags = nullptr);

  // For Step::listen.
  ScopeListener* scopes();
  MemoryTags* tags();

  void on_scope(const Scope& scope, bool begins) override;
  void tag(Category category, MemorySpace space, uint64_t address,
           const std::string& name) override;

 private:
  const std::string optimizer_;
  ScopeListener* const scopes_;
  MemoryTags* const tags_;
  int backwards_ = 0;  // that run
};

}  // namespace headroom
