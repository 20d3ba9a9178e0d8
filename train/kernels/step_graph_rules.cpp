#include "train/kernels/step_graph_rules.h"

#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

constexpr const char* kExample =
    "--step-graph --device virtual:h200 --profile-type training --optimizer-impl fused";

// AdamW's other implementations, Adam-mini, 8-bit Adam and Muon compute with the count of updates
// on the host.
bool counts_on_the_host(const RunSpec& spec) {
  if (spec.profile_type != Mode::kTraining) return false;
  if (spec.optimizer == OptimizerKind::kAdamw) return spec.optimizer_impl != OptimizerImpl::kFused;
  return spec.optimizer != OptimizerKind::kSgd && spec.optimizer != OptimizerKind::kLion;
}

}  // namespace

void check_step_graph(const RunSpec& spec) {
  if (!spec.step_graph) return;
  const auto refuse = [](const std::string& problem, const std::string& allowed) {
    throw UsageError("--step-graph", "true", problem + "; allowed: " + allowed, kExample);
  };
  if (spec.device.kind == DeviceKind::kCpu || spec.device.kind == DeviceKind::kAuto) {
    refuse("needs a CUDA device, and --device is " + to_string(spec.device),
           "with cuda, cuda:N, virtual:CARD");
  }
  if (!has_backward(spec.profile_type)) {
    refuse("captures a forward with its backward, and --profile-type is " +
               to_string(spec.profile_type),
           "with forward-backward, training");
  }
  if (counts_on_the_host(spec)) {
    refuse("fixes every number of an update, and --optimizer " + to_string(spec.optimizer) +
               " --optimizer-impl " + to_string(spec.optimizer_impl) +
               " computes with the count of updates on the host",
           "with adamw and fused, sgd, lion");
  }
  if (spec.precision == Precision::kFp16) {
    refuse("cannot wait for the check that --precision fp16 makes of the gradients",
           "with fp32, tf32, bf16, fp8");
  }
  if (spec.rounding == Rounding::kStochastic) {
    refuse("would repeat the random bits of --rounding stochastic", "with nearest");
  }
  if (spec.mesh.ranks() > 1) {
    refuse("captures one rank, and --mesh is " + to_string(spec.mesh), "without --mesh");
  }
  if (spec.activations.offloaded() || spec.param_offload.any() || offloads_optimizer(spec)) {
    refuse("cannot capture the copies to the host that offloading waits for", "without offloading");
  }
  if (!spec.save_checkpoint.empty()) {
    refuse("keeps the count of updates on the card, and --save-checkpoint writes that of the host",
           "without --save-checkpoint");
  }
  if (spec.warmup_steps < 2) {
    refuse(
        "runs one step without a graph and captures the next, both before the first measured step",
        "with --warmup-steps 2 or more");
  }
}

}  // namespace headroom
