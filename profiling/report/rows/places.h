// The row of a Record in a table. No torch here.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profiling/report/rows/conditions.h"

namespace headroom {

// Note [Records of one configuration]
// Rationale: a table shows the newest result of each configuration. Configurations are told apart
//   as in a sweep, but not by the build of the program: by settings, variables, files, virtual
//   card, place in a process and, where it counts, machine. A Record without conditions (version 1,
//   or of another program) is like any Record of its settings.
// Approach: the rows of a table are places. A Record takes the first place whose Record has its
//   settings and is like it, otherwise a new one. Places are found by hashes of settings and
//   conditions, in n log n: files may hold a million.
// Limits: 64-bit hashes, for finding and not for proof.
class PlacesOfConfigurations {
 public:
  explicit PlacesOfConfigurations(size_t records) { first_.reserve(records); }

  // The place of the Record: an earlier one, or the next. The Records must outlive this.
  size_t place_of(const Record& record);

 private:
  using Hash = uint64_t;
  // The first place of these settings and conditions; the next if there is none.
  size_t first_like(Hash settings, Hash conditions) const;

  std::vector<Hash> conditions_;                   // of the Record at each place
  std::unordered_map<Hash, size_t> first_;         // first place of each settings
  std::set<std::tuple<Hash, Hash, size_t>> like_;  // settings, conditions, place (if several)
  ConditionHashes hashes_;
};

}  // namespace headroom
