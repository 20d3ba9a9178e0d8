// What the virtual card says of a run, where only its memory is asked for. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bench/launch/cell.h"
#include "train/spec.h"

namespace headroom {

// Note [Asked of the card]
// Rationale: the rehearsal (profiling/theory/peak.h) does not follow every run, and no technique
// has
//   to be written for it. Of other runs the rows of theory say too little to search by.
// Approach: the run itself is asked, by a warm worker (Note [Warm workers]), which takes some
// tenths
//   of a second. Of a mesh the first rank of each stage runs alone. Each answer is kept.
//   A lower bound costs a fifth of that: the same model with few layers, twice. What is alive at
//   one instant of a step grows by as much with each layer, and the peak is the largest of such
//   sums: a later layer never adds less to it than an earlier one.
// Limits: the bound is of requested bytes, which the allocator's blocks exceed. It is of runs on
//   one GPU, whose blocks are alike.
class AskedCard {
 public:
  explicit AskedCard(const CellOptions& options);

  // Whether it runs on its card: false where the card or the host has too little memory, true
  // where it ends for another reason, which a cell that is judged tells.
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
  std::optional<MemoryBytes> peak_of_known(const RunSpec& spec, int64_t rank);
  std::optional<MemoryBytes> peak_with_room(RunSpec spec, int64_t rank);  // on any card

  CellOptions options_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, Answer> answers_;
};

}  // namespace headroom
