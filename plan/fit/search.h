// Searches settings that fit a card: theory proposes, the virtual card decides. No torch here.
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
#include "profiling/record/record.h"

namespace headroom {

// Note [Proved by running]
// Rationale: a computed figure may omit something: a card's context, free memory in pieces, a
//   kernel's workspace.
// Approach: each answer was run on the virtual card, and so was its neighbour one step beyond,
//   which does not fit. Beyond the largest batch or context this is the next value. Beyond a set of
//   techniques it is the set without one technique: of these, for the cheapest answer of all
//   cheaper sets, the smallest by theory. Beyond a card it is the next smaller card, with the
//   smallest set. Where card and theory disagree, the card decides; the search continues from there
//   and adds a note.
//   A limit on host memory applies to the cells too: host buffers on a virtual card cost nothing,
//   but they are counted, and refused beyond the limit.
//   On a mesh the ranks that can be fullest are run, each alone (plan/cost/fullest_ranks.h).
// Limits: of the sets cheaper than the answer only one was run; theory finds the others larger.

struct Verdict {
  Fits fits = Fits::kUnknown;
  std::shared_ptr<const Record> record;
  std::string reason;       // one line; "" where it fits
  bool of_host = false;     // the limit on host memory was too small
  int64_t host_excess = 0;  // then, by theory: bytes beyond the limit
};

// The oracle of a search. states, floor and need are theory's bytes beside the card's context
// (plan/fit/questions/need.h).
struct FitOracle {
  int64_t capacity = 0;               // bytes available to a run
  std::optional<int64_t> host_limit;  // host memory available to a run; none: no limit
  std::function<int64_t(const RunSpec&)> states = [](const RunSpec&) { return 0; };
  std::function<int64_t(const RunSpec&)> floor;
  std::function<int64_t(const RunSpec&)> need;
  // A lower bound of the need: closer than the floor, and slower to compute; 0: not known.
  std::function<int64_t(const RunSpec&)> least = [](const RunSpec&) { return 0; };
  std::function<int64_t(const RunSpec&)> about;  // the need for a guess; empty: use need
  std::function<bool(const RunSpec&)> fits;      // true if the card has room
  std::function<int64_t(const RunSpec&)> host = [](const RunSpec&) { return 0; };  // by theory
  std::function<Verdict(const RunSpec&)> run;
  // The next specs for run(), in this order, if the card agrees with theory.
  std::function<void(const std::vector<RunSpec>&)> prefetch = [](const std::vector<RunSpec>&) {};
  std::function<bool()> stopped = [] { return false; };
  // Progress for the user: sets that theory has checked; cells that may still run.
  std::function<void(size_t done, size_t all)> on_theory = [](size_t, size_t) {};
  std::function<void(size_t cells)> on_expected = [](size_t) {};
};

// The setting to maximize; kNothing: search the cheapest sets.
enum class Open { kNothing, kBatch, kContext };

struct FitQuestion {
  RunSpec base;  // device and all given settings
  std::vector<RunTechnique> techniques;
  CostOrder order;
  Open open = Open::kNothing;
  int64_t most = 0;                   // largest value of the open setting
  std::optional<int64_t> host_limit;  // bytes that runs may keep on one host; none: no limit
  std::string disk;                   // directory for memory that may lie in files; "" = none
  size_t answers = 10;
  MeshQuestion meshes;
};

// GPUs of a run.
inline int64_t gpus_of(const FitQuestion& question) {
  return std::max(question.meshes.gpus, question.base.mesh.ranks());
}

// Note [Ranks of one host]
// Rationale: the ranks on one host share its memory, and a run alone on its virtual card does not
//   see the others'.
// Approach: a host has eight GPUs, or all if there are fewer, and each rank may keep an equal part
//   of --host-memory. Its cell is limited to that part, and the printed command includes it: ranks
//   that fit so fit the host, whichever they are.
// Limits: where stages keep different amounts, some of the host's memory is left over.
inline std::optional<int64_t> host_limit_of_a_rank(const FitQuestion& question) {
  if (!question.host_limit) return std::nullopt;
  return std::max<int64_t>(*question.host_limit / std::min(gpus_of(question), kGpusPerNode), 1);
}

// The techniques' scope: one GPU, or many.
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
  TechniqueSet set;   // with the value of the open setting
  int64_t value = 0;  // of the open setting; a batch is that of all replicas
  int64_t need = 0;   // by theory
  Verdict verdict;
  std::optional<Beyond>
      beyond;  // none where nothing is: the cheapest set of all, the largest value
};

struct FitResult {
  std::vector<FitAnswer> answers;  // cheapest first, each reaching further than those before it
  // If nothing fits, at the smallest value of the open setting: of the sets that fit the card
  // but not the host (verdict.of_host), the one that needs the least host memory; without such a
  // set, the one that needs the least of the card.
  std::optional<FitAnswer> nearest;
  std::vector<std::string> notes;  // disagreements of card and theory, and sets without a verdict
  size_t sets = 0;                 // number of sets searched
  Questions questions;
  bool stopped = false;  // interrupted: only the answers proved by then
};

FitResult search_fit(const FitQuestion& question, const FitOracle& oracle);

}  // namespace headroom
