// Start here: compares two sets of results, cell by cell. No torch here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiling/compare/cells.h"
#include "profiling/compare/memory.h"
#include "profiling/compare/times.h"
#include "profiling/snapshot/analysis/divergence.h"
#include "text/table.h"

namespace headroom {

struct CellComparison {
  CellPair pair;
  MemoryDifference memory;
  std::optional<TimeDifference> times;      // empty: none were measured, or they were refused
  std::optional<SnapshotDivergence> lines;  // of the Records' snapshots, if bytes differ
};

struct Comparison {
  std::vector<EnvironmentFact> environment;  // that differs
  std::vector<CellComparison> cells;
  std::vector<std::string> missing, added;  // cells
  bool times_refused = false;               // because environments differ
};

struct CompareOptions {
  std::vector<std::string> across;  // settings under comparison, by their JSON keys
  bool anyway = false;              // compares times of environments that differ
};

// The results must outlive it.
Comparison compare_results(const std::vector<Result>& a, const std::vector<Result>& b,
                           const CompareOptions& options);

// The command that would decide, for a number of processes of each side.
using DecidingCommand = std::function<std::string(const CellPair& pair, int64_t processes)>;

// Differing environments first, then one row for each cell, then the figures that differ. limit: of
// lines of code for a cell, 0 = all.
std::vector<Table> comparison_tables(const Comparison& comparison, const DecidingCommand& decides,
                                     size_t limit);

}  // namespace headroom
