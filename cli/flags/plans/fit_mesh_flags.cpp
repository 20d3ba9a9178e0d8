#include "cli/flags/plans/fit_mesh_flags.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/flags/flag_values.h"
#include "cli/flags/runs/run_flags.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMostGpus = 1024;
constexpr int64_t kMostSequences = 1 << 24;  // the limit of --batch-size

// Settings that are valid on some meshes only: they are applied to each mesh.
const std::vector<std::string>& of_some_meshes() {
  static const std::vector<std::string> kNames = {"sequence-parallel", "schedule"};
  return kNames;
}

void check_that_some_run(const RunSpec& base, const MeshQuestion& meshes) {
  std::string refused;
  if (!mesh_runs(base, meshes, &refused).empty()) return;
  throw UsageError("--gpus", std::to_string(meshes.gpus),
                   "has no mesh with which this runs: " + refused,
                   "--gpus 8 --batch-size 1 --context-length 2048");
}

}  // namespace

std::vector<Flag> fit_mesh_flags(const char* group) {
  return {{"gpus", "N",
           "number of cards; each mesh of them that runs the step is tried. --batch-size\n"
           "is per replica, the largest batch found is over all replicas (default 1)",
           group},
          {.name = "global-batch-size",
           .value = "N",
           .help = "sequences per step over all replicas, with --gpus",
           .group = group,
           .example = "--gpus 8 --global-batch-size 8"}};
}

// The techniques of --allow or --forbid; none if it is not typed.
std::vector<Technique> listed(const Arguments& arguments, const std::string& flag) {
  if (!arguments.has(flag)) return {};
  return parse_techniques("--" + flag, arguments.get(flag));
}

bool is_allowed(const Arguments& arguments, Technique technique) {
  const auto names = [&](const char* flag) {
    const std::vector<Technique> list = listed(arguments, flag);
    return std::find(list.begin(), list.end(), technique) != list.end();
  };
  return !names("forbid") && (!arguments.has("allow") || names("allow"));
}

int64_t gpus_from(const Arguments& arguments) {
  const int64_t gpus = integer(arguments, "gpus", 1, 1, kMostGpus);
  const bool is_global = arguments.has("global-batch-size");
  if (is_global && gpus == 1) {
    throw UsageError(
        "--global-batch-size", arguments.get("global-batch-size"),
        "is the batch of all replicas, and there is one GPU; allowed with --gpus of 2 or more",
        "--gpus 8 --global-batch-size 8");
  }
  if (is_global && arguments.has("batch-size")) {
    throw UsageError(
        "--global-batch-size", arguments.get("global-batch-size"),
        "conflicts with --batch-size, the batch of one replica; allowed: one of the two",
        "--gpus 8 --global-batch-size 8");
  }
  if (gpus > 1 && arguments.has("disk")) {
    throw UsageError(
        "--disk", arguments.get("disk"),
        "needs a single GPU, as a mesh keeps nothing in files; allowed: without --gpus",
        "--gpus 8 --allow optimizer-offload");
  }
  const std::vector<Technique> forbidden = listed(arguments, "forbid");
  for (const Technique technique : listed(arguments, "allow")) {
    if (std::find(forbidden.begin(), forbidden.end(), technique) == forbidden.end()) continue;
    throw UsageError("--forbid", row_of(technique).word,
                     "is in --allow too; allowed: a technique in one of the two lists",
                     std::string("--allow ") + row_of(technique).word);
  }
  for (const std::string flag : {"allow", "forbid"}) {
    for (const Technique technique : listed(arguments, flag)) {
      if (gpus > 1 || may_use(TechniqueScope::kInRuns, row_of(technique))) continue;
      throw UsageError("--" + flag, row_of(technique).word,
                       "needs several GPUs; allowed: with --gpus of 2 or more",
                       "--" + flag + " checkpoint");
    }
  }
  return gpus;
}

RunSpec base_on_meshes(Arguments arguments, int64_t gpus) {
  const Arguments typed = arguments;
  if (arguments.has("global-batch-size")) {
    arguments.values["batch-size"] = arguments.get("global-batch-size");
  }
  if (!typed.has("mesh")) {
    arguments.values["mesh"] = "dp=" + std::to_string(gpus);
    for (const std::string& name : of_some_meshes()) arguments.values.erase(name);
  }
  RunSpec base = cell_from(arguments);
  if (base.mesh.ranks() != gpus) {
    throw UsageError("--mesh", to_string(base.mesh),
                     "has " + std::to_string(base.mesh.ranks()) + " ranks, and --gpus is " +
                         std::to_string(gpus) + "; allowed: the same number, or no --mesh",
                     "--gpus " + std::to_string(gpus) + " --mesh dp=" + std::to_string(gpus));
  }
  for (const std::string& name : of_some_meshes()) {
    if (typed.has(name)) find_flag("--" + name)->set(base, typed.get(name));
  }
  return base;
}

MeshQuestion meshes_from(const Arguments& arguments, const RunSpec& base, int64_t gpus, Open open) {
  MeshQuestion meshes{.gpus = gpus,
                      .global_batch = integer(arguments, "global-batch-size", 0, 1, kMostSequences),
                      .batch_is_open = open == Open::kBatch,
                      .context_is_open = open == Open::kContext,
                      .keeps_mesh = arguments.has("mesh"),
                      .keeps_zero = arguments.has("zero"),
                      .keeps_token_split = arguments.has("sequence-parallel"),
                      .techniques = {}};
  for (const Technique technique :
       {Technique::kPipeline, Technique::kTensorParallel, Technique::kZero3, Technique::kZero12}) {
    if (is_allowed(arguments, technique)) meshes.techniques.push_back(technique);
  }
  check_that_some_run(base, meshes);
  return meshes;
}

}  // namespace headroom
