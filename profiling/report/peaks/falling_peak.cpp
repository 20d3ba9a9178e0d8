#include "profiling/report/peaks/falling_peak.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

std::string at_context(int64_t bytes, const Record& record) {
  return format_bytes(bytes) + " at context " + std::to_string(record.spec.context_length);
}

// Note [Peaks that fall]
// Rationale: nothing that a step keeps shrinks with the context, so a lower peak looks like a
//   mistake.
// Approach: allocated counts whole blocks, requested the program's requests. libtorch gives out a
//   cached block whole if the rest would be 1 MiB or less; which blocks are cached at the fullest
//   moment depends on every size before it. If requested grows and allocated falls, that is the
//   cause. If requested falls too, the step's fullest moment has moved.
// Limits: the phase of the moment is known, not the line.
std::string reason(const Record& shorter, const Record& longer) {
  const std::string asked = "The program asked for " +
                            at_context(shorter.peak->requested, shorter) + " and " +
                            at_context(longer.peak->requested, longer);
  if (longer.peak->requested >= shorter.peak->requested) {
    const auto rounding = [](const Record& record) {
      return format_bytes(record.peak->allocated - record.peak->requested);
    };
    return asked + "; the rest, " + rounding(shorter) + " and " + rounding(longer) +
           ", is the allocator's: a cached block is given whole where 1 MiB or less would be left "
           "of it, and which blocks are cached depends on the context.";
  }
  if (shorter.peak_phase != longer.peak_phase) {
    return asked + ": the fullest moment is in " + shorter.peak_phase + ", then in " +
           longer.peak_phase + ".";
  }
  return asked + ": another operation of " + shorter.peak_phase +
         " is the fullest moment, with workspaces or temporaries of another size.";
}

}  // namespace

std::vector<std::string> falling_peak_notes(const RecordPointers& records,
                                            const RowSettings& settings) {
  std::map<std::pair<Mode, std::string>, RecordPointers> groups;
  for (const Record* record : records) {
    if (!peak_allocated(*record)) continue;
    groups[{record->spec.profile_type, settings.group(*record)}].push_back(record);
  }
  std::vector<std::string> notes;
  for (auto& [group, members] : groups) {
    std::stable_sort(members.begin(), members.end(), [](const Record* a, const Record* b) {
      return a->spec.context_length < b->spec.context_length;
    });
    const auto falls = [](const Record* shorter, const Record* longer) {
      return longer->spec.context_length > shorter->spec.context_length &&
             longer->peak->allocated < shorter->peak->allocated;
    };
    const auto first = std::adjacent_find(members.begin(), members.end(), falls);
    if (first == members.end()) continue;
    const Record& shorter = **first;
    const Record& longer = **std::next(first);
    notes.push_back(row_name(longer.spec) + ": the peak falls from " +
                    at_context(shorter.peak->allocated, shorter) + " to " +
                    at_context(longer.peak->allocated, longer) + ". " + reason(shorter, longer));
  }
  return notes;
}

}  // namespace headroom
