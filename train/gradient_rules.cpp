#include "train/gradient_rules.h"

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
                   "clips what an optimizer takes, and --profile-type " +
                       to_string(spec.profile_type) + " has none; allowed there: 0",
                   "--profile-type training --max-grad-norm 1");
}

constexpr const char* kRelease = "--release-gradients";
constexpr const char* kReleaseExample = "--profile-type training --release-gradients";

// Releasing needs an update that one gradient is enough for.
void check_release(const RunSpec& spec) {
  if (!spec.release_gradients) return;
  const auto refuse = [](const std::string& problem) {
    throw UsageError(kRelease, "true", problem, kReleaseExample);
  };
  if (spec.profile_type != Mode::kTraining) {
    refuse("updates parameters, which --profile-type " + to_string(spec.profile_type) +
           " does not; allowed: with training");
  }
  if (spec.micro_batches > 1) {
    refuse("frees what --micro-batches " + std::to_string(spec.micro_batches) +
           " adds up; allowed: with --micro-batches 1");
  }
  if (spec.max_grad_norm > 0) {
    refuse(
        "leaves no moment with all gradients, whose norm --max-grad-norm is of; allowed: "
        "without it");
  }
  if (spec.precision == Precision::kFp16) refuse_release_of_scaled_gradients();
}

}  // namespace

void refuse_release_of_scaled_gradients() {
  throw UsageError(kRelease, "true",
                   "updates before it is known that every FP16 gradient is finite, which loss "
                   "scaling must know; allowed: with --precision fp32, tf32, bf16, fp8",
                   std::string(kReleaseExample) + " --precision bf16");
}

bool releases_gradients(const RunSpec& spec) {
  return spec.release_gradients && spec.profile_type == Mode::kTraining;
}

int64_t passes(const RunSpec& spec) {
  return has_backward(spec.profile_type) ? spec.micro_batches : 1;
}

int64_t sequences_of_a_pass(const RunSpec& spec) { return spec.batch_size / passes(spec); }

void check_gradient_rules(const RunSpec& spec) {
  check_micro_batches(spec);
  check_clipping(spec);
  check_release(spec);
}

}  // namespace headroom
