// headroom fit --workload ppo: the cheapest set-up of an iteration for one card.
#pragma once

namespace headroom {

// Whether the words after `fit` ask for it.
bool asks_for_ppo(int argc, char** argv);

int run_fit_ppo_command(int argc, char** argv);

}  // namespace headroom
