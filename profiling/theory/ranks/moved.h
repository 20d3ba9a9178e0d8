// Bytes that collectives move in a step, one kind of call per row. No torch here.
//
// Note [Moved bytes]
// Rationale: the cost of a scheme is the bytes it moves, and each has its formula. The calls depend
//   on other settings: a recomputed block communicates again, and ZeRO-3 gathers as often as its
//   prefetcher decides.
// Approach: the rehearsal of a step counts where the step calls. A row is one tensor, the number of
//   its moves in one phase, and the derivation of its size. Bytes count the whole tensor that is
//   added up, gathered or scattered, as RankGroup does.
// Limits: only the last step is counted. A send counts for its sender, not again for its receiver.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/theory/rows.h"
#include "train/parallel/ranks/collective.h"
#include "train/settings/vocabulary/mesh.h"

namespace headroom {

struct MovedRow {
  MeshAxis axis = MeshAxis::kData;
  bool between_copies = false;  // of --shard-group, not inside a group
  Collective kind = Collective::kAllReduce;
  std::string phase;       // "forward"
  std::string tensor;      // "x_BSD"
  std::string derivation;  // of one: "B*S*D * 2 B = 4*512*768 * 2 B"
  int64_t bytes_each = 0;
  int64_t times = 0;

  int64_t bytes() const { return bytes_each * times; }
};

// "dp all_reduce", "dp copies all_reduce", as in RankFigures::moved.
std::string moved_key(const MovedRow& row);

// Bytes by moved_key().
std::map<std::string, int64_t> moved_sums(const std::vector<MovedRow>& rows);

// The calls of one step, in the order of the first of each.
class MovedCount {
 public:
  void begin_step() { rows_.clear(); }
  void add(MovedRow call);  // times is ignored
  const std::vector<MovedRow>& rows() const { return rows_; }

 private:
  std::vector<MovedRow> rows_;
};

}  // namespace headroom
