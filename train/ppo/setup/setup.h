// PpoSetup: the settings of an iteration, beside the RunSpec that its roles share. No torch here.
//
// The RunSpec is the actor's: its shape, batch (sequences of an iteration), prompt and response,
// sampling and cache, and every technique. The other roles have the same, except for the role
// settings here.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/ppo/role.h"
#include "train/ppo/setup/prompt_lengths.h"
#include "train/ppo/setup/spec.h"
#include "train/settings/spec.h"

namespace headroom {

enum class ReferencePlace {
  kResident,  // on the card
  kOffload,   // in host memory or in a file; blocks are fetched one by one
  kNone,      // no reference and no KL penalty
};
const EnumWords<ReferencePlace>& words_of(ReferencePlace);

struct PpoSetup {
  // prompts, response_length, temperature, end_token and seed come from the RunSpec.
  PpoSpec ppo;
  std::string critic_size;           // a named shape; "" = the actor's
  std::string reward_size = "none";  // also; "none": a rule scores
  ReferencePlace reference = ReferencePlace::kResident;
  std::string reference_directory;  // of its file, if offloaded to a disk; "" = to memory
  int64_t reward_token = 0;         // the rule: the share of a response's tokens equal to this
  PromptLengths prompt_lengths = PromptLengths::kEven;
  int64_t iterations = 1;    // measured ones, after an unmeasured one
  bool swap_phases = false;  // moves what a phase does not need to the host: placement.h
  // Share of the card for the actor and the generation cache, in (0, 1]; 0 = not set.
  double gpu_memory_utilization = 0;
  // Returns the allocator's cached memory to the card before each phase.
  bool empty_cache_between_phases = false;
  // RunSpec settings that differ for one role, as typed: by role, by field.
  std::map<Role, std::map<std::string, std::string>> of_role;
};

// An iteration with all its settings.
struct PpoRun {
  RunSpec shared;
  PpoSetup setup;
};

// One setting of PpoSetup, like Field for RunSpec.
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

// RunSpec settings that may differ per role: "actor_checkpoint" is `checkpoint` of the actor.
struct RoleField {
  Role role = Role::kActor;
  const Field* field = nullptr;
  std::string name() const { return word_of(role) + "_" + field->name; }  // key in a file
  std::string flag() const;                                               // "--actor-recompute"
  std::string old_flag() const;  // "--actor-checkpoint", still accepted; "" if none
};
const std::vector<RoleField>& role_fields();

// True if a RunSpec setting applies to iterations. Others apply to steps only.
bool is_of_iterations(const Field& field);

// The flag of a setting by its key: a PpoField, a RoleField or a Field.
std::string flag_of_setting(const std::string& name);

// Sets a setting by its key in a file: a PpoField, a RoleField or, for a run, a Field. The first
// returns false for any other key. Throws UsageError if the text does not parse.
bool set_by_name(PpoSetup& setup, const std::string& name, const std::string& text);
void set_by_name(PpoRun& run, const std::string& name, const std::string& text);

// The participating roles, in the order of the enumeration.
std::vector<Role> roles_of(const PpoSetup& setup);
// The spec to build one of them from. Throws UsageError.
RunSpec spec_of_role(const RunSpec& shared, const PpoSetup& setup, Role role);
// The computation of the iteration.
PpoSpec ppo_spec_of(const RunSpec& shared, const PpoSetup& setup);

// Throws UsageError if a role cannot be built, or the iteration makes no sense.
void validate(const RunSpec& shared, const PpoSetup& setup);

// Settings that differ from the default, by name. from_json throws UsageError on an unknown name.
nlohmann::json to_json(const PpoSetup& setup);
PpoSetup ppo_setup_from_json(const nlohmann::json& json);

}  // namespace headroom
