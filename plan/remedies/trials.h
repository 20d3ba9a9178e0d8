// Remedies for an iteration that ran out of memory: tried, not guessed. No torch here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/launch/cell.h"
#include "plan/remedies/remedies.h"
#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// Note [Remedies, tried]
// Rationale: advice that was not run is a guess: a flag may only move the shortage to the next
//   phase.
// Approach: each place where memory can run out (a phase, or the building of the models) has a list
//   of settings, the cheapest in time first, without those already set or not allowed. Each is run
//   alone, with the allocator's cache emptied between phases, so that fragmentation does not count.
//   If none is enough, they are added one after another, from the list of the place where the last
//   trial ended, until a run succeeds; then each that is not needed is left out again, the dearest
//   first. A trial is a cell like any other, of two iterations without a recorded one.
// Limits: the first in this order, not the best; changes of the numbers (8-bit states, 8-bit
//   caches) come last. A trial takes as long as the run would.

using OnTrial = std::function<void(const std::string& line)>;

struct TriedRemedy {
  Remedy remedy;
  Record record;
  bool runs() const { return record.status == Status::kOk; }
};

// `refused` is the Record of a run with these options that ran out of memory. on_line reports each
// trial as it ends. The last is the answer if one runs. Ends when interrupted() is true.
std::vector<TriedRemedy> try_remedies(const Record& refused, const CellOptions& options,
                                      const OnTrial& on_line);

// For the Record's notes: the remedy with its peak, or that none of these works.
std::string conclusion(const std::vector<TriedRemedy>& tried);
// A row for each trial.
Table remedies_table(const std::vector<TriedRemedy>& tried);

}  // namespace headroom
