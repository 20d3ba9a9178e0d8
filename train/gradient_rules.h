// What becomes of the gradients of a step: added up over micro-batches, clipped, released as they
// come, sent to the host. What follows of it for the rest of a run, and what contradicts it. No
// torch here.
#pragma once

#include "train/spec.h"

namespace headroom {

// How often a step goes forward and backward.
int64_t passes(const RunSpec& spec);
// Sequences of one of them.
int64_t sequences_of_a_pass(const RunSpec& spec);

// Whether every parameter is updated inside backward, which no gradient outlives.
bool releases_gradients(const RunSpec& spec);
// Whether the host updates every parameter, by gradients that leave the card inside backward.
bool offloads_optimizer(const RunSpec& spec);

// Throws UsageError.
void check_gradient_rules(const RunSpec& spec);
// Also where BF16 becomes FP16 on a card without it.
[[noreturn]] void refuse_release_of_scaled_gradients();
[[noreturn]] void refuse_files_beside_a_loss_scale();

}  // namespace headroom
