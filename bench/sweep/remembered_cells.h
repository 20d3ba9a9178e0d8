// Runs the cells of a search, each once: cells in a file of Records are reused. No torch here.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/sweep/record_log.h"
#include "bench/sweep/resume.h"
#include "bench/sweep/sweep.h"

namespace headroom {

struct RememberedCell {
  Record record;
  bool reused = false;            // found in the file
  std::vector<std::string> talk;  // its process's stderr, line by line
};

// A sweep with cells that are not known in advance: the same file and keys as run_sweep().
class RememberedCells {
 public:
  // first: a cell like those that will run. records_path: "" = none. options.on_talk gets messages
  // about the program and the file; a cell's output is in RememberedCell. Throws like run_sweep(),
  // before any cell runs.
  RememberedCells(const CellOptions& options, const RunSpec& first, const std::string& records_path,
                  const std::function<void(const std::string& line)>& on_talk);

  // Returns the file's Record of the cell, if valid; otherwise runs it, and writes the Record to
  // the disk. After ^C the Record is of a killed cell, and is not written. Thread-safe. ranks: the
  // ranks of a mesh to run.
  RememberedCell get(const RunSpec& spec, const RankChoice& ranks = {});

  int reused() const { return reused_; }

 private:
  CellOptions options_;
  nlohmann::json identity_;
  std::unique_ptr<RecordLog> log_;
  std::unique_ptr<EarlierRows> earlier_;
  std::mutex mutex_;  // for the file and the count
  int reused_ = 0;
};

}  // namespace headroom
