// Plans which cells of a sweep run concurrently. No torch here.
//
// Note [Lanes]
// Rationale: a sweep should use the whole machine, but a timed cell must run alone.
// Approach: cells on virtual cards are not timed, so they run on all cores. Each real card has its
// own lane, in which one cell runs at a time; lanes of different cards run concurrently. All other
// cells (the CPU, meshes, --device auto on a machine with a card) run alone.
// The three kinds run one after another. --jobs sets the number of concurrent cells of any kind,
// but a real card never has more than one.
// Limits: cells on different real cards share the host's cores.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

struct Lane {
  std::vector<size_t> cells;  // in grid order
  size_t at_once = 1;
};
using Stage = std::vector<Lane>;  // concurrent lanes

// jobs: 0 = as in the note; 1 = one lane, in the order of the cells.
std::vector<Stage> plan_lanes(const std::vector<const RunSpec*>& cells, size_t jobs);

// The highest number of concurrent cells.
size_t most_at_once(const std::vector<Stage>& stages);

// Calls run(cell) for each, stage after stage: on this thread if one cell runs at a time, otherwise
// on others. Starts no more cells after `stopped` returned true or `run` threw; rethrows the first
// exception of `run` after all have ended.
void run_stages(const std::vector<Stage>& stages, const std::function<void(size_t cell)>& run,
                const std::function<bool()>& stopped);

}  // namespace headroom
