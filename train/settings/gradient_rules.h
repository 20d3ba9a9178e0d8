// How a step treats its gradients: accumulated over micro-batches, clipped, released inside
// backward, sent to the host. The consequences for the rest of a run, and the contradictions.
// No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Number of forward-backward passes per step.
int64_t passes(const RunSpec& spec);
// Sequences per pass.
int64_t sequences_of_a_pass(const RunSpec& spec);

// True if backward updates every parameter and frees its gradient at once.
bool releases_gradients(const RunSpec& spec);
// True if the host updates every parameter, with gradients that leave the card inside backward.
bool offloads_optimizer(const RunSpec& spec);

// Throws UsageError.
void check_gradient_rules(const RunSpec& spec);
// Thrown too when BF16 becomes FP16 on a card without BF16.
[[noreturn]] void refuse_release_of_scaled_gradients();
[[noreturn]] void refuse_files_beside_a_loss_scale();

}  // namespace headroom
