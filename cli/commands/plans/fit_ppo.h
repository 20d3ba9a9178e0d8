// headroom fit --workload ppo: the cheapest set-up of a PPO iteration for one card.
#pragma once

namespace headroom {

// True if the words after `fit` contain --workload ppo.
bool asks_for_ppo(int argc, char** argv);

int run_fit_ppo_command(int argc, char** argv);

}  // namespace headroom
