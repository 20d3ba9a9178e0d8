// Measures a run's memory on the virtual card. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "bench/launch/cell.h"
#include "train/settings/spec.h"

namespace headroom {

// Note [Asked of the card]
// Rationale: the rehearsal (profiling/theory/peak.h) does not model every run, and a new technique
//   needs no rehearsal. For other runs the rows of theory are too coarse to search by.
// Approach: a warm worker runs the run itself (Note [Warm workers]), in some tenths of a second. On
//   a mesh the first rank of each stage runs alone. Each answer is kept.
//   A lower bound costs a fifth of that: the same model with few layers, twice. The bytes alive at
//   one instant of a step grow by an equal amount per layer, and the peak is the largest of such
//   sums: a later layer never adds less to it than an earlier one.
// Limits: the bound counts requested bytes, which the allocator's blocks exceed. It applies to runs
//   on one GPU, whose blocks are alike.
class AskedCard {
 public:
  explicit AskedCard(const CellOptions& options);

  // False if the card or the host has too little memory for the run. True if the run ends for
  // another reason: the cell that is judged reports it.
  bool fits(const RunSpec& spec);

  // Peak of allocated bytes on an unlimited card; on a mesh the fullest rank's, with NCCL's memory
  // there. The largest number if the run fails.
  int64_t need(const RunSpec& spec);

  // A lower bound of need(); 0: not known.
  int64_t least(const RunSpec& spec);

 private:
  struct Answer {
    bool fits = false;
    std::optional<MemoryBytes> peak;  // of a run that ended ok
  };

  Answer ask(const RunSpec& spec, int64_t rank);
  std::optional<Answer> find(const RunSpec& spec, int64_t rank);
  std::optional<MemoryBytes> peak_with_room(RunSpec spec, int64_t rank);  // on a card without limit

  CellOptions options_;
  std::mutex mutex_;  // guards answers_
  std::map<std::string, Answer> answers_;
};

}  // namespace headroom
