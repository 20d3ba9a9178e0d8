// PpoSetup: an iteration as it is asked for, beside the RunSpec that its roles share. No torch
// here.
//
// The RunSpec is the actor's: its shape, batch (sequences of an iteration), prompt and response,
// sampling and cache, and every technique. The other roles have the same, but for what is said
// here of one of them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/ppo/role.h"
#include "train/ppo/setup/prompt_lengths.h"
#include "train/ppo/setup/spec.h"
#include "train/spec.h"

namespace headroom {

enum class ReferencePlace {
  kResident,  // on the card
  kOffload,   // in host memory, or in a file; its blocks come over one by one while it scores
  kNone,      // there is none, and no KL penalty
};
const EnumWords<ReferencePlace>& words_of(ReferencePlace);

struct PpoSetup {
  // prompts, response_length, temperature, end_token and seed are those of the RunSpec.
  PpoSpec ppo;
  std::string critic_size;           // a named shape; "" = the actor's
  std::string reward_size = "none";  // likewise; "none": a rule scores
  ReferencePlace reference = ReferencePlace::kResident;
  std::string reference_directory;  // of its file, where it is offloaded to a disk; "" = to memory
  int64_t reward_token = 0;         // the rule: the share of a response's tokens that are this one
  PromptLengths prompt_lengths = PromptLengths::kEven;
  int64_t iterations = 1;    // measured, after one that is not
  bool swap_phases = false;  // what a phase does not need is in host memory: placement.h
  // Share of the card that the actor and the cache of generation may fill, in (0, 1]; 0 = not said.
  double gpu_memory_utilization = 0;
  // What the allocator has cached goes back to the card before each phase begins.
  bool empty_cache_between_phases = false;
  // Settings of RunSpec that one role has otherwise, as they are typed: by role, by field.
  std::map<Role, std::map<std::string, std::string>> of_role;
};

// An iteration with all that is asked of it.
struct PpoRun {
  RunSpec shared;
  PpoSetup setup;
};

// One setting of PpoSetup, as Field is one of RunSpec.
struct PpoField {
  std::string name;  // key in a file; the flag is --name with dashes
  std::string help;
  std::vector<std::string> choices = {};
  bool is_switch = false;
  std::string (*get)(const PpoSetup&) = nullptr;
  void (*set)(const std::string& flag, PpoSetup&, const std::string& text) = nullptr;
  std::string flag() const;
};
const std::vector<PpoField>& ppo_fields();

// Settings of RunSpec that a role may have otherwise: "actor_checkpoint" is `checkpoint` of the
// actor.
struct RoleField {
  Role role = Role::kActor;
  const Field* field = nullptr;
  std::string name() const { return word_of(role) + "_" + field->name; }  // key in a file
  std::string flag() const;                                               // "--actor-recompute"
  std::string old_flag() const;  // "--actor-checkpoint", still taken; "" where it has none
};
const std::vector<RoleField>& role_fields();

// Whether a setting of RunSpec is one of an iteration: steps have others, which it has otherwise or
// not at all.
bool is_of_iterations(const Field& field);

// The flag of a setting by its key: a PpoField, a RoleField or a Field.
std::string flag_of_setting(const std::string& name);

// Sets what a file calls so: a PpoField, a RoleField or, of a run, a Field. The first returns false
// where it is none of the first two. Throws UsageError where the text does not parse.
bool set_by_name(PpoSetup& setup, const std::string& name, const std::string& text);
void set_by_name(PpoRun& run, const std::string& name, const std::string& text);

// The roles that take part, in the order of the enumeration.
std::vector<Role> roles_of(const PpoSetup& setup);
// What one of them is built from. Throws UsageError.
RunSpec spec_of_role(const RunSpec& shared, const PpoSetup& setup, Role role);
// What the iteration computes.
PpoSpec ppo_spec_of(const RunSpec& shared, const PpoSetup& setup);

// Throws UsageError where a role cannot be built, or the iteration makes no sense.
void validate(const RunSpec& shared, const PpoSetup& setup);

// By name, what is not the default. from_json throws UsageError on an unknown name.
nlohmann::json to_json(const PpoSetup& setup);
PpoSetup ppo_setup_from_json(const nlohmann::json& json);

}  // namespace headroom
