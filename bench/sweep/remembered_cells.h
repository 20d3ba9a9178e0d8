// Cells that a search runs one after another, each once: what a file of Records answers is not run
// again. No torch here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/sweep/record_log.h"
#include "bench/sweep/resume.h"
#include "bench/sweep/sweep.h"

namespace headroom {

// A sweep whose cells are not known beforehand: the same file, the same keys (run_sweep()).
class RememberedCells {
 public:
  // records_path: "" = none. Throws as run_sweep() does, before any cell runs.
  RememberedCells(const CellOptions& options, const std::string& records_path,
                  const std::function<void(const std::string& line)>& on_talk);

  // The file's, where it answers the cell; else run, and on the disk before this returns. After ^C
  // the Record is of a killed cell, and stands nowhere.
  Record get(const RunSpec& spec);

  int ran() const { return ran_; }
  int reused() const { return reused_; }

 private:
  CellOptions options_;
  nlohmann::json identity_;
  std::unique_ptr<RecordLog> log_;
  std::unique_ptr<EarlierRows> earlier_;
  int ran_ = 0;
  int reused_ = 0;
};

}  // namespace headroom
