// What moves between two phases, and how long it takes. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"

namespace headroom {

// Note [Moving]
// Rationale: swapping trades memory for time on the link to the host.
// Approach: what the next phase needs and this one has not comes over the link. What this phase
//   trained goes back first; what it only read is dropped, its copy in host memory is still good.
//   Seconds are bytes over the link's peak in one direction, first out, then in.
// Limits: a lower bound. Real copies reach 70 to 90 % of the peak, from pinned memory; GPUs that
//   share a host link (a PCIe switch) share its rate.
struct Transition {
  std::string name;       // "generation -> scoring"
  int64_t freed = 0;      // made by the first phase, dropped
  int64_t to_host = 0;    // trained, written back
  int64_t from_host = 0;  // needed by the second phase
  std::string what;       // "frees KV cache; loads Critic (weights)"
  double seconds = 0;
};

// From each phase to the next, with the way back to the first; none with one phase.
std::vector<Transition> transitions(const RlhfSpec& spec, const RankMemory& memory,
                                    bool swap_phases);

// What moves within a phase: a reference model that is offloaded, an optimizer's update on the
// host.
std::vector<Transition> traffic_within_phases(const RlhfSpec& spec, const RlhfModels& models,
                                              const RankMemory& memory);

}  // namespace headroom
