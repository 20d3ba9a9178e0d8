// Who is on the card in which phase of an iteration (--swap-phases).
//
// Note [Who is on the card]
// Rationale: an iteration holds four models and two optimizers, and no phase needs all of them:
//   generation reads the actor's weights, scoring all weights, training what actor and critic have.
// Approach: what a phase does not need is in host memory, pinned for a card, before the phase
//   begins; what it needs comes first. This is plan/rlhf's Note [Resident, needed, idle], component
//   by component:
//     weights of the actor                  always
//     weights of the critic                 scoring, training
//     weights of reward model, reference    scoring
//     master weights, optimizer states      training
//   Caches, gradients and activations die with their phases. A role that has just been built goes
//   at once where generation does not need it, so that the next one is built in its room. What left
//   goes before what comes, so a change of phase is never fuller than the phases around it. What
//   training changes is copied out every time; what is only read was copied once, and is dropped.
//   The host keeps a place for everything that is ever out. Traffic is counted by the copy queue.
//   On the CPU the same copies are made, into ordinary memory: nothing is gained there, and
//   whatever holds there holds of these very lines.
// Limits: a phase waits for its copies: nothing runs beside them. Blocks of a role whose parameters
//   are offloaded come and go by themselves; an optimizer on the host is there already. Rotary
//   tables, a loss scale and cuBLAS's workspaces stay, a few MiB.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/memory_tags.h"
#include "train/offload/tensors_away.h"
#include "train/ppo/setup/role_rules.h"
#include "train/step.h"

namespace headroom {

class Placement {
 public:
  explicit Placement(torch::Device device);

  // A role that has just been built; it outlives this.
  void add(Role role, Step& step);

  // A phase is about to begin. `between` runs when all has left and nothing has come yet. What
  // comes is tagged by whoever listens to its Step; `tags` hears of the host's memory.
  void before(const std::string& phase, MemoryTags* tags = nullptr,
              const std::function<void()>& between = nullptr);

  HostTraffic traffic() const { return copies_->traffic(); }   // so far
  int64_t host_bytes() const { return arena_->slab_bytes(); }  // that it holds, in slabs

 private:
  struct Component {
    Role role;
    RolePart part;
    Step* step;
    TensorsAway tensors;
  };

  void add(Role role, RolePart part, Step& step);
  void leave_but_for(const std::string& phase);
  static std::vector<torch::Tensor> tensors_of(const Component& component);

  std::shared_ptr<CopyQueue> copies_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Component> components_;
};

}  // namespace headroom
