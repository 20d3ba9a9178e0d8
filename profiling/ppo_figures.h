// What iterations of PPO came to, as plain data of a Record. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/named.h"
#include "text/shared_json.h"

namespace headroom {

// Of one phase of the workload, the outermost around an event: profiling/phase_breakdown.h.
struct PhaseComponents {
  std::string phase;
  int64_t requested = 0;  // bytes live at its fullest instant
  // By component: "actor parameters", "kv_cache", "temporaries". No zeros; sums to `requested`.
  Named<int64_t> components;
  // How it went: by component, what was live at the fullest instant of each of kInstants equal
  // shares of the phase's events. The highest sum of one instant is `requested`.
  Named<std::vector<int64_t>> instants;
};

// One iteration; zeros where there are no values (a virtual card).
struct IterationFigures {
  double score = 0;            // mean over sequences
  double kl = 0;               // of actor to reference, nats a token
  double reward = 0;           // of a sequence, score less KL penalty: mean over sequences
  double response_tokens = 0;  // of a sequence: mean
};

// What the actor was trained on in an iteration, all epochs.
struct PackingFigures {
  int64_t micro_batches = 0;
  int64_t tokens = 0;       // prompt and response; no padding is computed
  int64_t most_tokens = 0;  // of a micro-batch
};

struct PpoFigures {
  SharedJson setup;  // train/ppo/setup/setup.h, what is not the default
  std::vector<PhaseComponents> phases;
  bool of_warm_up = false;  // phases, the Record's too: the run failed before it measured any
  PackingFigures packing;
  std::vector<IterationFigures> iterations;  // that were measured
};

}  // namespace headroom
