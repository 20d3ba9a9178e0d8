// Iterations of PPO while they run: the roles, and where in an iteration they are.
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
  RunSpec shared;  // of a real card the share of generation as tokens
  const PpoSetup& setup;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  Roles roles = {};
  std::optional<Placement> placement = {};  // none: all are on the card in every phase
  std::unique_ptr<Data> data = nullptr;
  int64_t next = 0;                         // iteration
  std::string during = "the start";         // what it is at, for people
  std::string phase = {};                   // of the iteration, from when the change to it begins
  std::optional<Role> running = {};         // in that phase: the role whose Step told a scope last
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last allocation that was

  MemoryTracker& tracker() { return *memories.front().tracker; }
  std::vector<std::string> role_words() const;
  // So far, of all roles and of what moves between phases.
  Traffic traffic();

  // Notes: what was done otherwise than asked.
  void build(std::vector<std::string>* notes);
  // The next one. `what` is for people: "warm-up". Either listener may be null. What is there when
  // it fails is tagged once more: an update that was interrupted has tagged nothing yet.
  IterationReport iterate(const char* what, ScopeListener* scopes, MemoryTags* tags);

 private:
  void change_phase(const std::string& to, MemoryTags* tags);
  Prompts next_prompts();
};

}  // namespace headroom
