// The flags of `headroom fit` for several GPUs. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/flags/flags.h"
#include "plan/fit/search.h"

namespace headroom {

// --gpus and --global-batch-size.
std::vector<Flag> fit_mesh_flags(const char* group);

// The techniques of --allow or --forbid; none if it is not typed.
std::vector<Technique> listed(const Arguments& arguments, const std::string& flag);
bool is_allowed(const Arguments& arguments, Technique technique);

// --gpus. Throws UsageError if another flag is only for one GPU, or only for several.
int64_t gpus_from(const Arguments& arguments);

// The common part of runs on all meshes; its own mesh has only replicas, unless one is typed.
RunSpec base_on_meshes(Arguments arguments, int64_t gpus);

// Throws UsageError if no mesh can be run.
MeshQuestion meshes_from(const Arguments& arguments, const RunSpec& base, int64_t gpus, Open open);

}  // namespace headroom
