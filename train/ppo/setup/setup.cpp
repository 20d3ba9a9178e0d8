#include "train/ppo/setup/setup.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"

namespace headroom {
namespace {

using nlohmann::json;

// RunSpec settings that may differ per role.
const std::vector<std::string>& fields_of_roles() {
  static const std::vector<std::string> kFields = {
      "checkpoint",        "activations",   "param_offload", "optimizer",   "optimizer_impl",
      "optimizer_offload", "learning_rate", "max_grad_norm", "load_weights"};
  return kFields;
}

bool changes_nothing_without_training(const std::string& field) {
  return field != "param_offload" && field != "load_weights";
}

void set_shape(RunSpec& spec, const std::string& size) {
  spec.model_size = size;
  for (const DimensionSetting& dimension : kDimensionSettings) spec.*dimension.given = 0;
  for (const LayerSetting& layer : kLayerSettings) spec.*layer.given = false;
}

}  // namespace

const EnumWords<ReferencePlace>& words_of(ReferencePlace) {
  static const EnumWords<ReferencePlace> kWords = {
      {ReferencePlace::kResident, "resident", "on the card"},
      {ReferencePlace::kOffload, "offload", "in host memory, block by block on the card"},
      {ReferencePlace::kNone, "none", "no reference model: no KL penalty"}};
  return kWords;
}

const EnumWords<Role>& words_of(Role) {
  static const EnumWords<Role> kWords = {
      {Role::kActor, "actor", "samples, and is trained"},
      {Role::kCritic, "critic", "estimates the value of a state, and is trained"},
      {Role::kReward, "reward", "scores a finished sequence"},
      {Role::kReference, "reference", "gives the log-probabilities of the KL penalty"}};
  return kWords;
}

std::string PpoField::flag() const { return "--" + with_dashes(name); }

namespace {

// "--actor-recompute" of "--recompute"; "" of "".
std::string flag_of_role(Role role, const std::string& flag) {
  return flag.empty() ? "" : "--" + word_of(role) + flag.substr(1);
}

}  // namespace

std::string RoleField::flag() const { return flag_of_role(role, field->flag()); }
std::string RoleField::old_flag() const { return flag_of_role(role, field->old_flag); }

std::string flag_of_setting(const std::string& name) {
  if (const Field* field = find_field(name)) return field->flag();
  for (const RoleField& one : role_fields()) {
    if (one.name() == name) return one.flag();
  }
  return "--" + with_dashes(name);
}

const std::vector<RoleField>& role_fields() {
  static const std::vector<RoleField> kFields = [] {
    std::vector<RoleField> all;
    for (const Role role : {Role::kActor, Role::kCritic, Role::kReward, Role::kReference}) {
      for (const std::string& name : fields_of_roles()) {
        if (!is_trained(role) && changes_nothing_without_training(name)) continue;
        all.push_back({role, find_field(name)});
      }
    }
    return all;
  }();
  return kFields;
}

bool is_of_iterations(const Field& field) {
  static const std::vector<std::string> kNot = {"profile_type",
                                                "micro_batches",
                                                "warmup_steps",
                                                "measure_steps",
                                                "record_steps",
                                                "save_weights",
                                                "save_checkpoint",
                                                "save_every",
                                                "load_checkpoint",
                                                "kernels",
                                                "step_graph",
                                                "mesh",
                                                "zero",
                                                "reshard_after_forward",
                                                "shard_group",
                                                "prefetch",
                                                "sequence_parallel",
                                                "schedule",
                                                "bucket_bytes"};
  return !is_one_of(field.name, kNot);
}

bool set_by_name(PpoSetup& setup, const std::string& name, const std::string& text) {
  for (const PpoField& field : ppo_fields()) {
    if (field.name != name) continue;
    field.set(field.flag(), setup, text);
    return true;
  }
  for (const RoleField& one : role_fields()) {
    if (one.name() != name) continue;
    setup.of_role[one.role][one.field->name] = text;
    return true;
  }
  return false;
}

void set_by_name(PpoRun& run, const std::string& name, const std::string& text) {
  if (!set_by_name(run.setup, name, text)) find_field(name)->set(run.shared, text);
}

std::vector<Role> roles_of(const PpoSetup& setup) {
  std::vector<Role> roles = {Role::kActor};
  if (setup.ppo.algorithm == PpoAlgorithm::kPpo) roles.push_back(Role::kCritic);
  if (setup.reward_size != "none") roles.push_back(Role::kReward);
  if (setup.reference != ReferencePlace::kNone) roles.push_back(Role::kReference);
  return roles;
}

RunSpec spec_of_role(const RunSpec& shared, const PpoSetup& setup, Role role) {
  RunSpec spec = shared;
  spec.profile_type = is_trained(role) ? Mode::kTraining : Mode::kForward;
  if (role == Role::kCritic && !setup.critic_size.empty()) set_shape(spec, setup.critic_size);
  if (role == Role::kReward && !setup.reward_size.empty()) set_shape(spec, setup.reward_size);
  if (gives_values(role)) spec.load_weights.clear();  // the file has the actor's head
  if (role == Role::kReference && setup.reference == ReferencePlace::kOffload) {
    const std::string& directory = setup.reference_directory;
    find_field("param_offload")->set(spec, directory.empty() ? "cpu" : "nvme:" + directory);
  }
  const auto own = setup.of_role.find(role);
  if (own == setup.of_role.end()) return spec;
  for (const auto& [name, text] : own->second) find_field(name)->set(spec, text);
  return spec;
}

PpoSpec ppo_spec_of(const RunSpec& shared, const PpoSetup& setup) {
  PpoSpec spec = setup.ppo;
  spec.prompts = shared.batch_size / std::max<int64_t>(spec.group_size, 1);
  spec.response_length = response_tokens(shared);
  spec.temperature = shared.temperature;
  spec.end_token = shared.end_token;
  spec.seed = shared.seed;
  if (setup.reference == ReferencePlace::kNone) spec.kl_coef = 0;
  return spec;
}

json to_json(const PpoSetup& setup) {
  json object = json::object();
  const PpoSetup defaults;
  for (const PpoField& field : ppo_fields()) {
    const std::string text = field.get(setup);
    if (text != field.get(defaults)) object[field.name] = text;
  }
  for (const auto& [role, texts] : setup.of_role) {
    for (const auto& [name, text] : texts) object[word_of(role) + "_" + name] = text;
  }
  return object;
}

PpoSetup ppo_setup_from_json(const json& object) {
  PpoSetup setup;
  for (const auto& [name, value] : object.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (set_by_name(setup, name, text)) continue;
    throw UsageError("--" + with_dashes(name), text, "is no setting of an iteration",
                     "--kl-coef 0.05");
  }
  return setup;
}

}  // namespace headroom
