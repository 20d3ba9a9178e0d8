// The flags of `headroom fit` that ask for several GPUs. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/flags/flags.h"
#include "plan/fit/search.h"

namespace headroom {

// --gpus and --global-batch-size.
std::vector<Flag> fit_mesh_flags(const char* group);

// The techniques of --allow, or --forbid; none where it is not typed.
std::vector<Technique> listed(const Arguments& arguments, const std::string& flag);
bool is_allowed(const Arguments& arguments, Technique technique);

// --gpus. Throws UsageError where what is typed beside it goes with one GPU, or with several, only.
int64_t gpus_from(const Arguments& arguments);

// What a run has in common on all meshes; its own is of replicas alone, unless one is typed.
RunSpec base_on_meshes(Arguments arguments, int64_t gpus);

// Throws UsageError where not one of them can be run.
MeshQuestion meshes_from(const Arguments& arguments, const RunSpec& base, int64_t gpus, Open open);

}  // namespace headroom
