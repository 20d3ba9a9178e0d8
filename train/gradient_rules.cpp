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
    throw UsageError("--micro-batches", count,
                     "does not divide --batch-size " + batch + "; allowed: its divisors, 1 to " +
                         batch,
                     "--batch-size 4 --micro-batches 2");
  }
}

}  // namespace

int64_t passes(const RunSpec& spec) {
  return has_backward(spec.profile_type) ? spec.micro_batches : 1;
}

int64_t sequences_of_a_pass(const RunSpec& spec) { return spec.batch_size / passes(spec); }

void check_gradient_rules(const RunSpec& spec) { check_micro_batches(spec); }

}  // namespace headroom
