// What collectives move in a step, one kind of call a row. No torch here.
//
// Note [Moved bytes]
// Rationale: how many bytes a scheme moves is what it costs, and each has its formula. Which calls
//   there are depends on what is around: a block that is computed again speaks to the other ranks
//   again, what comes and goes with ZeRO-3 does so as often as its books say.
// Approach: the rehearsal of a step counts where the step calls. A row is one tensor, how often it
//   is moved in one phase, and why it has that size. Bytes are of the whole of what is added up,
//   gathered or scattered, as RankGroup counts them.
// Limits: of the last step gone through; what a step reads of the others is not counted twice: a
//   send is the sender's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/theory/rows.h"
#include "train/parallel/ranks/collective.h"
#include "train/vocabulary/mesh.h"

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

// By that.
std::map<std::string, int64_t> moved_sums(const std::vector<MovedRow>& rows);

// Of the calls of one step, in the order of the first of each.
class MovedCount {
 public:
  void begin_step() { rows_.clear(); }
  void add(MovedRow call);  // times is not looked at
  const std::vector<MovedRow>& rows() const { return rows_; }

 private:
  std::vector<MovedRow> rows_;
};

}  // namespace headroom
