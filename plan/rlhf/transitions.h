// Transfers between two phases, and their time. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"

namespace headroom {

// Note [Moving]
// Rationale: swapping trades memory for time on the link to the host.
// Approach: components that the next phase needs and this one lacks are copied over the link. Those
//   that this phase trained are written back first; those it only read are dropped, since their
//   copy in host memory is still valid. Seconds are bytes over the link's peak in one direction,
//   first out, then in.
// Limits: a lower bound. Real copies reach 70 to 90 % of the peak, from pinned memory; GPUs that
//   share a host link (a PCIe switch) share its rate.
struct Transition {
  std::string name;       // "generation -> scoring"
  int64_t freed = 0;      // made by the first phase, freed
  int64_t to_host = 0;    // trained, written back
  int64_t from_host = 0;  // needed by the second phase
  std::string what;       // "frees KV cache; loads Critic (weights)"
  double seconds = 0;
};

// From each phase to the next, and from the last back to the first; none with one phase.
std::vector<Transition> transitions(const RlhfSpec& spec, const RankMemory& memory,
                                    bool swap_phases);

// Transfers within a phase: an offloaded reference model, an optimizer's update on the host.
std::vector<Transition> traffic_within_phases(const RlhfSpec& spec, const RlhfModels& models,
                                              const RankMemory& memory);

}  // namespace headroom
