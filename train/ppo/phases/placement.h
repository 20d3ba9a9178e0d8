// Moves models on and off the card for each phase of an iteration (--swap-phases).
//
// Note [Phase placement]
// Rationale: an iteration has four models and two optimizers, and no phase needs all: generation
//   reads the actor's weights, scoring all weights, training the data of actor and critic.
// Approach: before a phase, everything that it does not need moves to host memory, pinned for a
//   card; then everything that it needs moves in. Component by component, this is plan/rlhf's
//   Note [Resident, needed, idle]:
//     weights of the actor                  always
//     weights of the critic                 scoring, training
//     weights of reward model, reference    scoring
//     master weights, optimizer states      training
//   Caches, gradients and activations are freed with their phases. A newly built role that
//   generation does not need leaves at once, so that the next one is built in its space. Components
//   leave before others come, so a change of phase never needs more than the phases around it.
//   Trained data is copied out every time; read-only data is copied out once, later dropped. The
//   host keeps space for everything that ever leaves. The copy queue counts the traffic. The CPU
//   makes the same copies, into ordinary memory: this saves nothing, but tests the same code.
// Limits: a phase waits for its copies: nothing overlaps with them. Blocks of a role with offloaded
//   parameters come and go by themselves; an optimizer on the host is there already. Rotary tables,
//   a loss scale and cuBLAS's workspaces stay, a few MiB.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/hooks/memory_tags.h"
#include "train/offload/tensors_away.h"
#include "train/ppo/setup/role_rules.h"
#include "train/step.h"

namespace headroom {

class Placement {
 public:
  explicit Placement(torch::Device device);

  // Adds a newly built role, which must outlive this.
  void add(Role role, Step& step);

  // Call before a phase. `between` runs when everything has left and nothing has come yet. The
  // Step's listener tags what comes; `tags` gets the host's memory.
  void before(const std::string& phase, MemoryTags* tags = nullptr,
              const std::function<void()>& between = nullptr);

  HostTraffic traffic() const { return copies_->traffic(); }   // so far
  int64_t host_bytes() const { return arena_->slab_bytes(); }  // held, in slabs

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
