// Which cells of a sweep run beside each other. No torch here.
//
// Note [Lanes]
// Rationale: a sweep should use the whole machine, but a cell that is timed must run by itself.
// Approach: cells on virtual cards are not timed, so they run on all cores. Each real card has a
// lane of its own, in which one cell runs at a time; lanes of different cards run beside each
// other. All other cells (the CPU, meshes, --device auto on a machine with a card) run alone.
// The three kinds come one after another. --jobs says how many cells run at once, whatever they
// are; a real card never has more than one.
// Limits: cells on different real cards share the host's cores.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

struct Lane {
  std::vector<size_t> cells;  // in their order
  size_t at_once = 1;
};
using Stage = std::vector<Lane>;  // lanes beside each other

// jobs: 0 = as the note says; 1 = one lane, in the order of the cells.
std::vector<Stage> plan_lanes(const std::vector<const RunSpec*>& cells, size_t jobs);

// The largest number of cells that run at once.
size_t most_at_once(const std::vector<Stage>& stages);

// Calls run(cell) for each, stage after stage. With one cell at a time that is on this thread, else
// on others. Hands out no more cells when `stopped` says so or `run` has thrown; throws what `run`
// threw first, when all have ended.
void run_stages(const std::vector<Stage>& stages, const std::function<void(size_t cell)>& run,
                const std::function<bool()>& stopped);

}  // namespace headroom
