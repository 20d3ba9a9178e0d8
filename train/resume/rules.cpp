#include "train/resume/rules.h"

#include "text/quantity.h"

namespace headroom {
namespace {

// For a run that saves or loads.
void check_kept(const RunSpec& spec, const std::string& flag, const std::string& directory) {
  const std::string with = flag + " checkpoints";
  const auto refuse = [&](const std::string& problem, const std::string& example) {
    throw UsageError(flag, directory, problem, example);
  };
  if (spec.profile_type != Mode::kTraining) {
    refuse("needs weights and an optimizer, and --profile-type " + to_string(spec.profile_type) +
               " has no optimizer; allowed: with training",
           "--profile-type training --device cpu " + with);
  }
  if (is_virtual(spec)) {
    refuse("needs values, and " + to_string(spec.device) + " has none; allowed: cpu, cuda",
           "--device cpu " + with);
  }
  if (spec.optimizer_offload.any()) {
    const bool in_files = spec.optimizer_offload.space == MemorySpace::kDisk;
    refuse("does not run with --optimizer-offload " + to_string(spec.optimizer_offload) +
               (in_files ? ", whose files are its own checkpoint (keep)" : "") + "; allowed: none",
           "--optimizer-offload none " + with);
  }
  if (spec.param_offload.any()) {
    refuse("does not run with --param-offload " + to_string(spec.param_offload) + "; allowed: none",
           "--param-offload none " + with);
  }
}

}  // namespace

void check_checkpoints(const RunSpec& spec) {
  if (spec.save_every > 0 && spec.save_checkpoint.empty()) {
    throw UsageError(
        "--save-every", std::to_string(spec.save_every),
        "needs a directory to save to; allowed with --save-checkpoint",
        "--profile-type training --device cpu --save-checkpoint checkpoints --save-every 100");
  }
  if (!spec.save_checkpoint.empty()) check_kept(spec, "--save-checkpoint", spec.save_checkpoint);
  if (spec.load_checkpoint.empty()) return;
  check_kept(spec, "--load-checkpoint", spec.load_checkpoint);
  if (!spec.load_weights.empty()) {
    throw UsageError("--load-weights", spec.load_weights,
                     "would be overwritten by the weights of --load-checkpoint; give one of them",
                     "--load-checkpoint checkpoints");
  }
}

}  // namespace headroom
