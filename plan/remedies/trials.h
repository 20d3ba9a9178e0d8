// What would have let an iteration run that ran out of memory: tried, not guessed. No torch here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/launch/cell.h"
#include "plan/remedies/remedies.h"
#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Note [Remedies, tried]
// Rationale: an advice that was not run is a guess: what memory lacks in one phase another flag may
//   only move to the next one.
// Approach: each place where memory can run out (a phase, or the building of the models) has a list
//   of settings, the cheapest in time first. Those that are set already, or that the set-up does
//   not allow, are left out. Each is run alone, with the allocator's cache emptied between phases:
//   what is only scattered is not counted against it. Where none is enough, they are added one
//   after another, from the list of the place where the last trial ended, until a run reaches its
//   end; then each is left out again that it does without, the dearest first. A trial is a cell
//   like any other, of two iterations without a recorded one.
// Limits: the first in this order, not the best; what changes the numbers (8-bit states, caches of
//   8 bits) comes last. A trial takes as long as the run would.

using OnTrial = std::function<void(const std::string& line)>;

struct TriedRemedy {
  Remedy remedy;
  Record record;
  bool runs() const { return record.status == Status::kOk; }
};

// `refused` is the Record of a run with these options, which ran out of memory. on_line hears of
// each trial as it ends. The last is the answer, where one runs. Ends when interrupted() is true.
std::vector<TriedRemedy> try_remedies(const Record& refused, const CellOptions& options,
                                      const OnTrial& on_line);

// For the Record's notes: what avoids it, with its peak; or that none of these does.
std::string conclusion(const std::vector<TriedRemedy>& tried);
// A row for each.
Table remedies_table(const std::vector<TriedRemedy>& tried);

}  // namespace headroom
