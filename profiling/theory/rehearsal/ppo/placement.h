// The models on the card in each phase, with shapes for tensors. Read beside
// train/ppo/phases/placement.h. No torch here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiling/theory/rehearsal/step.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {

class RehearsedPlacement {
 public:
  // A role that has just been built; it outlives this.
  void add(Role role, RehearsedStep& step);

  // A phase is about to begin; `between` as of Placement::before().
  void before(const std::string& phase, const std::function<void()>& between);

 private:
  struct Component {
    Role role;
    RolePart part;
    RehearsedStep* step;
    std::vector<std::shared_ptr<Storage>> away;
  };

  void leave_but_for(const std::string& phase);

  std::vector<Component> components_;
};

}  // namespace headroom
