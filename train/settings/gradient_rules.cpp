#include "train/settings/gradient_rules.h"

#include "text/quantity.h"

namespace headroom {
namespace {

void check_micro_batches(const RunSpec& spec) {
  if (spec.micro_batches == 1) return;
  const std::string count = std::to_string(spec.micro_batches);
  const std::string batch = std::to_string(spec.batch_size);
  if (!has_backward(spec.profile_type)) {
    throw UsageError("--micro-batches", count,
                     "adds up gradients, and --profile-type " + to_string(spec.profile_type) +
                         " makes none; allowed there: 1",
                     "--profile-type training --micro-batches 2");
  }
  if (spec.batch_size % spec.micro_batches != 0) {
    throw UsageError(
        "--micro-batches", count,
        "does not divide --batch-size " + batch + "; allowed: its divisors, 1 to " + batch,
        "--batch-size 4 --micro-batches 2");
  }
}

void check_clipping(const RunSpec& spec) {
  if (spec.max_grad_norm == 0 || spec.profile_type == Mode::kTraining) return;
  throw UsageError("--max-grad-norm", find_field("max_grad_norm")->get(spec),
                   "clips gradients for an optimizer, and --profile-type " +
                       to_string(spec.profile_type) + " has none; allowed there: 0",
                   "--profile-type training --max-grad-norm 1");
}

constexpr const char* kRelease = "--release-gradients";
std::string release_example() { return find_field("release_gradients")->example(); }

// Releasing needs an update that uses one gradient at a time.
void check_release(const RunSpec& spec) {
  if (!spec.release_gradients) return;
  const auto refuse = [](const std::string& problem) {
    throw UsageError(kRelease, "true", problem, release_example());
  };
  if (spec.profile_type != Mode::kTraining) {
    refuse("updates parameters, which --profile-type " + to_string(spec.profile_type) +
           " does not; allowed: with training");
  }
  if (spec.micro_batches > 1) {
    refuse("frees the gradients that --micro-batches " + std::to_string(spec.micro_batches) +
           " adds up; allowed: with --micro-batches 1");
  }
  if (spec.max_grad_norm > 0) {
    refuse(
        "frees each gradient at once, and --max-grad-norm needs the norm of all of them; allowed: "
        "without it");
  }
  if (spec.precision == Precision::kFp16) refuse_release_of_scaled_gradients();
}

constexpr const char* kOffload = "--optimizer-offload";
constexpr const char* kOffloadExample = "--profile-type training --optimizer-offload cpu";

[[noreturn]] void refuse_offload(const RunSpec& spec, const std::string& problem,
                                 const std::string& more = "") {
  throw UsageError(kOffload, to_string(spec.optimizer_offload), problem, kOffloadExample + more);
}

// Checks which parameters the host updates, and with which optimizer.
void check_offloaded_update(const RunSpec& spec) {
  if (spec.profile_type != Mode::kTraining) {
    refuse_offload(spec, "keeps the states of an optimizer, and --profile-type " +
                             to_string(spec.profile_type) + " has none; allowed: with training");
  }
  if (spec.optimizer != OptimizerKind::kAdamw) {
    refuse_offload(spec, "updates with AdamW on the host, and --optimizer is " +
                             to_string(spec.optimizer) + "; allowed: with adamw");
  }
  if (spec.optimizer_impl != OptimizerImpl::kReference) {
    refuse_offload(spec, "updates with AdamW on the host, and --optimizer-impl " +
                             to_string(spec.optimizer_impl) +
                             " runs on the device; allowed: with reference");
  }
  if (spec.weights == WeightType::kBf16 && spec.master_weights == MasterCopy::kNone) {
    refuse_offload(spec,
                   "updates FP32 numbers on the host, and BF16 weights without a master copy have "
                   "none; allowed: with --master-weights fp32, or --param-dtype fp32",
                   " --param-dtype bf16 --master-weights fp32");
  }
}

// Each gradient leaves the device before the next but one exists.
void check_offload(const RunSpec& spec) {
  if (!spec.optimizer_offload.any()) return;
  check_offloaded_update(spec);
  if (spec.release_gradients) {
    refuse_offload(spec,
                   "already moves each gradient to the host inside backward; allowed: without "
                   "--release-gradients");
  }
  if (spec.precision == Precision::kFp16 && spec.optimizer_offload.space == MemorySpace::kDisk) {
    refuse_files_beside_a_loss_scale();
  }
}

void check_param_offload(const RunSpec& spec) {
  if (!spec.param_offload.any() || spec.profile_type != Mode::kTraining) return;
  if (spec.optimizer_offload.any()) return;
  throw UsageError("--param-offload", to_string(spec.param_offload),
                   "leaves no weights on the device for its optimizer to update; allowed: with "
                   "--optimizer-offload cpu, or without an update",
                   "--profile-type training --param-offload cpu --optimizer-offload cpu");
}

}  // namespace

void refuse_files_beside_a_loss_scale() {
  throw UsageError(kOffload, "nvme",
                   "keeps the state of a run in files, and the scale of an FP16 loss is not part "
                   "of it; allowed: cpu, or --precision fp32, tf32, bf16, fp8",
                   std::string(kOffloadExample) + " --precision fp16");
}

void refuse_release_of_scaled_gradients() {
  throw UsageError(kRelease, "true",
                   "updates inside backward, and FP16 loss scaling must check all gradients before "
                   "an update; allowed: with --precision fp32, tf32, bf16, fp8",
                   release_example() + " --precision bf16");
}

bool releases_gradients(const RunSpec& spec) {
  return spec.release_gradients && spec.profile_type == Mode::kTraining;
}

bool offloads_optimizer(const RunSpec& spec) {
  return spec.optimizer_offload.any() && spec.profile_type == Mode::kTraining;
}

int64_t passes(const RunSpec& spec) {
  return has_backward(spec.profile_type) ? spec.micro_batches : 1;
}

int64_t sequences_of_a_pass(const RunSpec& spec) { return spec.batch_size / passes(spec); }

void check_gradient_rules(const RunSpec& spec) {
  check_micro_batches(spec);
  check_clipping(spec);
  check_release(spec);
  check_offload(spec);
  check_param_offload(spec);
}

}  // namespace headroom
