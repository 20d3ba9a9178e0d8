// A grid of RunSpecs, one process per cell, nothing lost. No torch here.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cell.h"

namespace headroom {

// One axis: a field of RunSpec (its JSON key) and the values it takes, as typed.
struct Axis {
  std::string field;
  std::vector<std::string> values;
};

// The cartesian product over `base`, the last axis fastest. Duplicates are dropped; every spec is
// validated. Throws UsageError.
std::vector<RunSpec> expand(const RunSpec& base, const std::vector<Axis>& axes);

// The key under which a result is found again: a hash of the fields that change the result, the
// build and the libtorch (from cell_identity). As 16 hexadecimal digits; also stored in each
// Record's environment as "key".
std::string result_key(const RunSpec& spec, const nlohmann::json& identity);

struct SweepOptions {
  CellOptions cell;
  std::string records_path;  // JSONL, appended and fsynced as each cell ends; "" = none
  bool resume = true;  // cells whose key is in records_path with status ok or oom are not rerun
  std::function<void(const std::string& line)>
      on_progress;  // "[3/63] small_ctx128_... ok 1.2 s, ETA 40 s"
};

struct SweepResult {
  std::vector<Record> records;  // one per cell, in grid order; reused ones included
  int reused = 0;
  bool interrupted = false;  // SIGINT: the cells that ran are in records, the rest are not
};

// Runs every cell, one at a time. A cell that ends badly is a row and the sweep goes on. Opens
// records_path before the first cell runs; throws std::runtime_error (one line) when that fails or
// when a line cannot be written and synced (disk full).
SweepResult run_sweep(const std::vector<RunSpec>& specs, const SweepOptions& options);

// The program's exit code: 0 all ok, 3 some cells failed, 4 all failed, 130 interrupted. A cell
// that ran out of memory counts as failed.
int exit_code(const SweepResult& result);

}  // namespace headroom
