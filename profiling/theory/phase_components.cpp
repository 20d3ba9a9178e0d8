#include "profiling/theory/phase_components.h"

#include <algorithm>

#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rows.h"
#include "text/words.h"
#include "train/ppo/role.h"

namespace headroom {
namespace {

// For theory's groups: "actor optimizer state".
std::string component_of(const std::string& owned) {
  const size_t space = owned.find(' ');
  const std::string owner = owned.substr(0, std::min(space, owned.size()));
  const bool has_owner = is_one_of(owner, choices_of<Role>());
  const std::string group = has_owner ? owned.substr(space + 1) : owned;
  if (group == kParameters) return component_of_role(owner, "parameters");
  if (group == kGradients) return component_of_role(owner, "gradients");
  if (is_one_of(group, {kOptimizerState, kOptimizerNextState, kMasterWeights})) {
    return component_of_role(owner, "optimizer_state");
  }
  if (group == kKvCacheRows) return kCacheComponent;
  if (group == kWorkspaces) return kWorkspaces;
  if (is_one_of(group, {kExperience, kTables, kInputs, kLossScaler})) return kBesideModels;
  return kActivations;
}

}  // namespace

std::string component_of_role(std::string_view role, std::string_view category) {
  const auto row = [&](const char* what) { return std::string(role) + " " + what; };
  if (category == "parameters") return row("weights");
  if (category == "gradients") return row("gradients");
  if (category == "optimizer_state" || category == "master_weights") return row("optimizer");
  return "";
}

std::map<std::string, int64_t> by_component(const PhasePeak& peak) {
  std::map<std::string, int64_t> components;
  for (const auto& [owned, bytes] : peak.components) components[component_of(owned)] += bytes;
  return components;
}

}  // namespace headroom
