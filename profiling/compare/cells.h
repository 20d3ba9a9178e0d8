// The cells of two sets of results, matched. No torch here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profiling/compare/result.h"

namespace headroom {

// One cell, with its results in both: one for each process that ran it, oldest first.
struct CellPair {
  std::string name;
  std::vector<const Result*> a, b;
  std::vector<std::string> settings;  // that differ: "precision fp32 -> bf16"
};

struct MatchedCells {
  std::vector<CellPair> pairs;       // in the order of A
  std::vector<std::string> missing;  // only in A
  std::vector<std::string> added;    // only in B
};

// Note [Matched cells]
// Rationale: a cell is its settings, as in a sweep; build, machine and time are its environment.
// Approach: cells are equal if all settings that change a result are, without `across` (JSON keys),
//   those under comparison. If A and B have one cell each, these are a pair, whatever their
//   settings.
// Limits: the results must outlive this.
MatchedCells match_cells(const std::vector<Result>& a, const std::vector<Result>& b,
                         const std::vector<std::string>& across = {});

// A fact of the environments that differs: "libtorch", "2.10.0", "2.11.0". "" where it is missing.
struct EnvironmentFact {
  std::string name, a, b;
  bool operator==(const EnvironmentFact&) const = default;
};

// The facts in which the newest results of all pairs differ, each once. Facts that differ between
// two runs of one cell on one machine, such as the time, are left out.
std::vector<EnvironmentFact> differing_environments(const std::vector<CellPair>& pairs);

}  // namespace headroom
