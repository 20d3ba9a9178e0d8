// The state of PPO iterations: the roles, and the current place in an iteration.
#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell/machine/device.h"
#include "bench/cell/memory/traffic.h"
#include "profiling/record/record.h"
#include "train/data/data.h"
#include "train/ppo/iteration.h"
#include "train/ppo/phases/placement.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

struct PpoBench {
  RunSpec shared;  // on a real card the generation's share is converted to tokens
  const PpoSetup& setup;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  Roles roles = {};
  std::optional<Placement> placement = {};  // none: all roles are on the card in every phase
  std::unique_ptr<Data> data = nullptr;
  int64_t next = 0;                         // iteration
  std::string during = "the start";         // the current activity, for people
  std::string phase = {};                   // of the iteration, set when the change to it begins
  std::optional<Role> running = {};         // in that phase: the role of the last begun scope
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last refused allocation

  MemoryTracker& tracker() { return *memories.front().tracker; }
  std::vector<std::string> role_words() const;
  // So far, of all roles and of the moves between phases.
  Traffic traffic();

  // Notes: deviations from the request.
  void build(std::vector<std::string>* notes);
  // Runs the next iteration. `what` is for people: "warm-up". Either listener may be null. After a
  // failure the live tensors are tagged again: an interrupted update has not tagged its own.
  IterationReport iterate(const char* what, ScopeListener* scopes, MemoryTags* tags);

 private:
  void change_phase(const std::string& to, MemoryTags* tags);
  Prompts next_prompts();
};

}  // namespace headroom
