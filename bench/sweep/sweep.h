// Runs a grid of RunSpecs and keeps every result. No torch here.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/launch/cell.h"

namespace headroom {

// One axis: a field of RunSpec (its JSON key) and its values, as typed.
struct Axis {
  std::string field;
  std::vector<std::string> values;
};

// The cartesian product over `base`, the last axis fastest. Duplicates are dropped; every spec is
// validated. Throws UsageError. No axes: the base alone.
std::vector<RunSpec> expand(const RunSpec& base, const std::vector<Axis>& axes);

// The conditions of a result besides its settings and the program: "variables" that libtorch reads,
// input "files", the definition of a virtual "card", and the cells before it in its process, if
// any. Stored in each Record's environment as "conditions".
struct Before {
  size_t cells = 0;  // in the same process
  std::string key;   // of the last of them
};
nlohmann::json result_conditions(const RunSpec& spec, const Before& before = {});

// The lookup key of a result, 16 hexadecimal digits; stored as "key". identity: cell_identity() of
// the program, or the environment of a Record that it wrote. See Note [Result keys] in
// bench/sweep/key.cpp.
std::string result_key(const RunSpec& spec, const nlohmann::json& identity,
                       const nlohmann::json& conditions);
inline std::string result_key(const RunSpec& spec, const nlohmann::json& identity) {
  return result_key(spec, identity, result_conditions(spec));
}

struct SweepOptions {
  CellOptions cell;
  std::string records_path;  // JSONL, appended and fsynced as each cell ends; "" = none
  bool resume = true;        // cells that records_path already answers are not rerun
  size_t jobs = 0;           // concurrent cells; 0 = as in Note [Lanes] in bench/sweep/lanes.h
  bool warm = true;          // cells on virtual cards run in warm workers: Note [Warm workers]
  bool one_process = false;  // see Note [Cells in one process] in bench/launch/cell.h
  std::vector<nlohmann::json> marks = {};  // one per cell, for environment.cell.shard; empty = none
  // "[3/63] small_ctx128_training_fp32 ok 1.234 GiB 5.2 s, ETA 40 s"; also the Records found in
  // records_path.
  std::function<void(const std::string& line)> on_progress;
  // "cell 3 of 63: small_ctx128_training_fp32, step 2 of 16, ETA 40 s": while a cell runs.
  std::function<void(const std::string& line)> on_status;
};

struct SweepResult {
  std::vector<Record> records;  // in grid order, reused ones included; one per cell, but if
                                // interrupted none for cells that did not end
  int reused = 0;
  bool interrupted = false;  // SIGINT or SIGTERM; see bench/process/interrupt.h
};

// Runs every cell. A failed cell is a row, and the sweep continues.
// A cell is not rerun if records_path holds a Record of the same key that is ok or oom, was written
// with the same output files and these still exist, and, if oom, ran with as much host memory as
// there is now or filled a virtual card. In one process all cells are reused, or none: a cell's
// memory depends on those before it. Rows of other keys (another build, another setting) stay in
// the file and are never returned.
// Throws UsageError if there is no cell, or if a written file is also read or written by another
// (Note [Files apart] in files/same_file.h). Throws std::runtime_error (one line) if the cell
// program is missing or records_path cannot be opened, locked and read, both before the first cell
// runs, or if a line cannot be written and synced (disk full); earlier lines stay complete.
SweepResult run_sweep(const std::vector<RunSpec>& specs, const SweepOptions& options);

// The program's exit code: 0 all ok, 3 some cells failed, 4 all failed, 130 interrupted. A cell
// that ran out of memory counts as failed: only the status matters.
int exit_code(const SweepResult& result);

}  // namespace headroom
