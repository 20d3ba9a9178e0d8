// Whose bytes were live at the peak, from a Recording. No torch here.
// By lifetimes and what they are for: profiling/lifetimes.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/record.h"
#include "profiling/tracker/recording.h"

namespace headroom {

struct Attribution {
  int64_t peak_bytes = 0;                     // requested bytes live at the peak
  std::map<std::string, int64_t> categories;  // every category, zeros included; sums to peak_bytes
  std::map<std::string, int64_t> category_peaks;  // each category's own highest, at its own moment
  // What was live, by category, when each phase ended, the last time of several; no zeros.
  std::map<std::string, std::map<std::string, int64_t>> phase_ends;

  // At the cut (profiling/saving.h) where most is saved, the last of several alike.
  int64_t activation_bytes = 0;  // all that is saved then
  int64_t cast_cache_bytes = 0;  // copies of weights that live then
  // What the largest recomputation of checkpointing had made when it ended, cast weights not.
  int64_t recomputed_bytes = 0;
  std::vector<BlockResidual> blocks;  // of the last forward before it, in the order they ran
};

// `owned` in the order of the tags.
Attribution attribute(const Recording& recording, const std::vector<Owned>& owned);

}  // namespace headroom
