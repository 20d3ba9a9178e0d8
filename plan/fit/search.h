// The search for what fits one card: theory proposes, the virtual card disposes. No torch here.
//
// Start here: search_fit(). It asks a FitOracle and prints nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/cost/layout.h"
#include "plan/fit/bracket.h"
#include "plan/fit/meshes/meshes.h"
#include "plan/fit/sets/technique_sets.h"
#include "plan/search/questions.h"
#include "profiling/record.h"

namespace headroom {

// Note [Proved by running]
// Rationale: a figure that was computed may be wrong by what nobody thought of: a card's context,
//   memory that is free and in pieces, a kernel's workspace.
// Approach: each answer was run on the virtual card, and so was its neighbour one step beyond,
//   which does not fit. Beyond the largest batch or context that is the next one. Beyond a set of
//   techniques it is what is left when one technique is taken back: of these sets, for the cheapest
//   answer of all cheaper sets, the one that theory finds smallest. Beyond a card it is the next
//   smaller card, with the smallest set. Where card and theory disagree the card is believed, the
//   search goes on from there and says so.
//   A limit on host memory is the cells' too: host buffers on a virtual card cost nothing, but they
//   are counted, and refused beyond it.
//   On a mesh the ranks that can be fullest are run, each alone (plan/cost/fullest_ranks.h).
// Limits: of the sets that are cheaper than the answer one was run; the others theory finds larger.

struct Verdict {
  Fits fits = Fits::kUnknown;
  std::shared_ptr<const Record> record;
  std::string reason;       // one line; "" where it fits
  bool of_host = false;     // it is the limit on host memory that was too small
  int64_t host_excess = 0;  // then, by theory: bytes beyond it
};

// Who is asked. states, floor and need of theory: bytes beside the card's context
// (plan/fit/questions/need.h).
struct FitOracle {
  int64_t capacity = 0;               // bytes that a run may have
  std::optional<int64_t> host_limit;  // and of host memory; none: as much as it wants
  std::function<int64_t(const RunSpec&)> states = [](const RunSpec&) { return 0; };
  std::function<int64_t(const RunSpec&)> floor;
  std::function<int64_t(const RunSpec&)> need;
  // The need has so much at least: closer to it than the floor, and dearer; 0: not known.
  std::function<int64_t(const RunSpec&)> least = [](const RunSpec&) { return 0; };
  std::function<int64_t(const RunSpec&)> about;  // the need, near enough for a guess; empty: it
  std::function<bool(const RunSpec&)> fits;      // whether the card has room
  std::function<int64_t(const RunSpec&)> host = [](const RunSpec&) { return 0; };  // by theory
  std::function<Verdict(const RunSpec&)> run;
  // What run() will be asked next, in this order, if the card does as theory says.
  std::function<void(const std::vector<RunSpec>&)> foretell = [](const std::vector<RunSpec>&) {};
  std::function<bool()> stopped = [] { return false; };
  // For whoever tells the user: how many sets theory has looked at, how many cells may still run.
  std::function<void(size_t done, size_t all)> on_theory = [](size_t, size_t) {};
  std::function<void(size_t cells)> on_expected = [](size_t) {};
};

// The setting whose largest value is asked for; none where the cheapest sets are.
enum class Open { kNothing, kBatch, kContext };

struct FitQuestion {
  RunSpec base;  // device and all that is given
  std::vector<RunTechnique> techniques;
  CostOrder order;
  Open open = Open::kNothing;
  int64_t most = 0;                   // largest value of what is open
  std::optional<int64_t> host_limit;  // bytes that runs may keep on one host; none: no limit
  std::string disk;                   // directory for what may lie in files; "" = none
  size_t answers = 10;
  MeshQuestion meshes;
};

// GPUs that a run has.
inline int64_t gpus_of(const FitQuestion& question) {
  return std::max(question.meshes.gpus, question.base.mesh.ranks());
}

// Note [Ranks of one host]
// Rationale: the ranks that run on one host share its memory, and a run alone on its virtual card
//   does not see the others'.
// Approach: a host has eight GPUs, or all where there are fewer, and each rank may keep an equal
//   part of --host-memory. Its cell is held to that part, and the printed command says it: what
//   fits so fits the host, whichever ranks are on it.
// Limits: where stages keep more or less than each other, some of the host's memory is left over.
inline std::optional<int64_t> host_limit_of_a_rank(const FitQuestion& question) {
  if (!question.host_limit) return std::nullopt;
  return std::max<int64_t>(*question.host_limit / std::min(gpus_of(question), kGpusPerNode), 1);
}

// Who asks: for one GPU, or for many.
inline TechniqueScope searcher(const FitQuestion& question) {
  return question.meshes.gpus > 1 ? TechniqueScope::kInMeshes : TechniqueScope::kInRuns;
}

// One step beyond an answer, run.
struct Beyond {
  std::string what;  // "batch 13", "without checkpoint full"
  RunSpec spec;
  int64_t need = 0;  // by theory
  Verdict verdict;
};

struct FitAnswer {
  TechniqueSet set;   // with the value of what is open
  int64_t value = 0;  // of what is open; a batch is that of all replicas
  int64_t need = 0;   // by theory
  Verdict verdict;
  std::optional<Beyond>
      beyond;  // none where nothing is: the cheapest set of all, the largest value
};

struct FitResult {
  std::vector<FitAnswer> answers;  // cheapest first, each reaching further than those before it
  // Where nothing fits, at the smallest value of what is open: of the sets that the card has room
  // for and the host has not (verdict.of_host) the one that needs least of the host; where there is
  // none the set that needs least of the card.
  std::optional<FitAnswer> nearest;
  std::vector<std::string> notes;  // where card and theory disagree, what could not be judged
  size_t sets = 0;                 // that there are
  Questions questions;
  bool stopped = false;  // the answers are those that were proved by then
};

FitResult search_fit(const FitQuestion& question, const FitOracle& judge);

}  // namespace headroom
