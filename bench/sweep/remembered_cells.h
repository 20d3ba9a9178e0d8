// Cells that a search runs, each once: what a file of Records answers is not run again. No torch
// here.
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
  std::vector<std::string> talk;  // what its process said on stderr, line by line
};

// A sweep whose cells are not known beforehand: the same file, the same keys (run_sweep()).
class RememberedCells {
 public:
  // first: a cell like those that will run. records_path: "" = none. options.on_talk hears of the
  // program and of the file; what cells say comes with them. Throws as run_sweep() does, before any
  // cell runs.
  RememberedCells(const CellOptions& options, const RunSpec& first, const std::string& records_path,
                  const std::function<void(const std::string& line)>& on_talk);

  // The file's, where it answers the cell; else run, and on the disk before this returns. After ^C
  // the Record is of a killed cell, and stands nowhere. May be called from several threads at once.
  // ranks: which of a mesh run.
  RememberedCell get(const RunSpec& spec, const RankChoice& ranks = {});

  int reused() const { return reused_; }

 private:
  CellOptions options_;
  nlohmann::json identity_;
  std::unique_ptr<RecordLog> log_;
  std::unique_ptr<EarlierRows> earlier_;
  std::mutex mutex_;  // of the file and the count
  int reused_ = 0;
};

}  // namespace headroom
