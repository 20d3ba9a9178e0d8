// Figures of PPO iterations, as plain data of a Record. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/record/named.h"
#include "text/shared_json.h"

namespace headroom {

// One outermost phase of the workload: profiling/phase_breakdown.h.
struct PhaseComponents {
  std::string phase;
  int64_t requested = 0;  // most bytes live at one instant
  // By component: "actor parameters", "kv_cache", "temporaries". No zeros; sums to `requested`.
  Named<int64_t> components;
  // Bytes by component at the fullest instant of each of kInstants equal parts of the phase's
  // events. The highest sum of one instant is `requested`.
  Named<std::vector<int64_t>> instants;
};

// One iteration; zeros where there are no values (a virtual card).
struct IterationFigures {
  double score = 0;            // mean over sequences
  double kl = 0;               // of actor to reference, nats per token
  double reward = 0;           // score minus KL penalty per sequence: mean
  double response_tokens = 0;  // per sequence: mean
};

// The actor's training data in one iteration, over all epochs.
struct PackingFigures {
  int64_t micro_batches = 0;
  int64_t tokens = 0;       // prompt and response, without padding
  int64_t most_tokens = 0;  // in one micro-batch
};

struct PpoFigures {
  SharedJson setup;  // non-default settings of train/ppo/setup/setup.h
  std::vector<PhaseComponents> phases;
  bool of_warm_up = false;  // phases (and the Record's) are of the warm-up: nothing was measured
  PackingFigures packing;
  std::vector<IterationFigures> iterations;  // measured ones only
};

}  // namespace headroom
