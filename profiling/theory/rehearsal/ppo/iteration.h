// One iteration of PPO or GRPO with shapes for tensors. Read beside train/ppo/iteration.h, and what
// it is made of beside train/ppo/. No torch here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiling/theory/rehearsal/ppo/experience.h"
#include "profiling/theory/rehearsal/ppo/placement.h"
#include "profiling/theory/rehearsal/step.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Like Roles: null where a role takes no part.
struct RehearsedRoles {
  std::unique_ptr<RehearsedStep> actor, critic, reward, reference;

  std::unique_ptr<RehearsedStep>& step_of(Role role);
};

class RehearsedIteration {
 public:
  // Called where a phase begins and where it has ended: "generation", "scoring", "training".
  using OnPhase = std::function<void(const char* phase, bool begins)>;

  // All roles are built.
  RehearsedIteration(Run& run, const RunSpec& shared, const PpoSetup& setup);

  void go(const OnPhase& on_phase);

 private:
  void before(const char* phase);
  void generate(const ShapePrompts& prompts, ShapeExperience& experience);

  Run& run_;
  RunSpec shared_;
  PpoSpec spec_;
  ShapeGeneration generation_;
  RehearsedRoles roles_;
  std::optional<RehearsedPlacement> placement_;  // none: all are on the card in every phase
  bool empties_cache_ = false;                   // before each phase
};

// scoring.cpp: as score(), and what an iteration reports of it.
void score(ShapeExperience& experience, RehearsedRoles& roles, const PpoSpec& spec);
void report_scores(const ShapeExperience& experience);

// training.cpp
void train_critic(const ShapeExperience& experience, RehearsedStep& critic, const PpoSpec& spec);
void train_actor(const ShapeExperience& experience, RehearsedStep& actor, const PpoSpec& spec);

// scoring.cpp: of the outputs of a pass, (1, N, D), what a head of one output gives, (N) FP32.
ShapeTensor values_of(const RehearsedModel& model, const ShapeTensor& hidden_1ND);

}  // namespace headroom
