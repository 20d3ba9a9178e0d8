// Every set-up in the search, and the step back from each technique. No torch here.
#pragma once

#include <string>
#include <vector>

#include "plan/rlhf/spec.h"

namespace headroom {

// All layouts of spec.num_gpus that real systems can run (tp divides key/value heads and d_ff of
// every model and stays within a node, pp divides the layers of every model, a pipeline has at
// least as many micro-batches as stages), with every technique on and off. spec.setup gives two
// bounds: its micro-batch is the largest, and kNone excludes a reference model.
std::vector<RlhfSetup> all_setups(const RlhfSpec& spec);

// The set-up with one technique one level lower, everything else kept.
struct StepBack {
  std::string technique;  // "checkpoint full"
  std::string instead;    // "checkpoint none"
  RlhfSetup setup;
  std::string refused;  // the reason if it cannot be run; "" = it can
};
std::vector<StepBack> one_step_back(const RlhfSpec& spec, const RlhfSetup& setup);

}  // namespace headroom
