// Asks the virtual card for the memory of a run. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "bench/launch/cell.h"
#include "train/spec.h"

namespace headroom {

// Note [Asked of the card]
// Rationale: the rehearsal (profiling/theory/peak.h) does not follow every run, and a new technique
//   needs no rehearsal. Of other runs the rows of theory say too little to search by.
// Approach: a warm worker runs the run itself (Note [Warm workers]), in some tenths of a second. Of
//   a mesh the first rank of each stage runs alone. Each answer is kept.
//   A lower bound costs a fifth of that: the same model with few layers, twice. What is alive at
//   one instant of a step grows by as much with each layer, and the peak is the largest of such
//   sums: a later layer never adds less to it than an earlier one.
// Limits: the bound is of requested bytes, which the allocator's blocks exceed. It is of runs on
//   one GPU, whose blocks are alike.
class AskedCard {
 public:
  explicit AskedCard(const CellOptions& options);

  // False where the card or the host has too little memory for the run. True where the run ends for
  // another reason: the cell that is judged names it.
  bool fits(const RunSpec& spec);

  // The most bytes that are allocated where there is room for everything; of a mesh by the fullest
  // rank, with what NCCL takes there. The largest number where the run does not end well.
  int64_t need(const RunSpec& spec);

  // Bytes that need() certainly has; 0: not known.
  int64_t least(const RunSpec& spec);

 private:
  struct Answer {
    bool fits = false;
    std::optional<MemoryBytes> peak;  // of a run that ended well
  };

  Answer ask(const RunSpec& spec, int64_t rank);
  std::optional<Answer> find(const RunSpec& spec, int64_t rank);
  std::optional<MemoryBytes> peak_with_room(RunSpec spec, int64_t rank);  // on any card

  CellOptions options_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, Answer> answers_;
};

}  // namespace headroom
