// A listener that records a step's scopes and tags. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"

namespace headroom {

struct Heard final : ScopeListener, MemoryTags {
  void on_scope(const Scope& scope, bool begins) override {
    texts.emplace_back(1, begins ? '+' : '-').append(scope.text());
    if (begins) kinds[scope.text()] = scope.kind;
  }
  void tag(Category category, MemorySpace space, uint64_t address,
           const std::string& name) override {
    tags[category].push_back(address);
    names[category].push_back(name);
    spaces.push_back(space);
  }

  std::vector<std::string> texts;  // "+forward", "+block 0", "-block 0", "-forward"
  std::map<std::string, ScopeKind> kinds;
  std::map<Category, std::vector<uint64_t>> tags;      // addresses
  std::map<Category, std::vector<std::string>> names;  // in the same order
  std::vector<MemorySpace> spaces;
};

}  // namespace headroom
