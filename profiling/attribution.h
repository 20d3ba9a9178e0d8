// Live bytes at the peak, by category, from a Recording. No torch here.
// The blocks and their categories: profiling/lifetimes.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/record/record.h"
#include "profiling/tracker/recording.h"

namespace headroom {

struct Attribution {
  int64_t peak_bytes = 0;                     // requested bytes live at the peak
  std::map<std::string, int64_t> categories;  // every category, zeros included; sums to peak_bytes
  std::map<std::string, int64_t> category_peaks;  // each category's own peak, at its own moment
  // Live bytes by category at the end of each phase (of its last run); no zeros.
  std::map<std::string, std::map<std::string, int64_t>> phase_ends;

  // At the cut (profiling/saving.h) with the most saved bytes; of equal cuts the last.
  int64_t activation_bytes = 0;  // all saved bytes at that cut
  int64_t cast_cache_bytes = 0;  // live cast copies of weights
  // Bytes of the largest checkpoint recomputation at its end, without cast weights.
  int64_t recomputed_bytes = 0;
  std::vector<BlockResidual> blocks;  // of the last forward before the cut, in the order they ran
};

// `owned` is in the order of the tags.
Attribution attribute(const Recording& recording, const std::vector<Owned>& owned);

}  // namespace headroom
