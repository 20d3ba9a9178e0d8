// Runs cells before the search asks for them. No torch here.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/sweep/remembered_cells.h"

namespace headroom {

// Note [Cells ahead]
// Rationale: a cell uses one core, and a search runs one cell after another, since the next may
//   depend on the last result. Mostly it does not: theory predicts the next cells.
// Approach: the search announces the cells it will ask for if the card agrees with theory, then
//   asks one by one. A requested cell starts at once, before announced ones, on as many threads as
//   there are cores. So results and their order are those of one core. Each cell runs once.
// Limits: if the card disagrees, some cells were run in vain; they stay in the file of Records for
//   the next search. At the end, started cells are waited for.
class CellsAhead {
 public:
  using Run = std::function<RememberedCell(const RunSpec&)>;

  // at_once: number of parallel cells. `run` is called from several threads at once.
  CellsAhead(Run run, size_t at_once);
  ~CellsAhead();
  CellsAhead(const CellsAhead&) = delete;
  CellsAhead& operator=(const CellsAhead&) = delete;

  // The next requests in order; replaces earlier announcements that have not started.
  void prefetch(const std::vector<RunSpec>& specs);

  // Waits for the cell. Throws what `run` threw.
  RememberedCell get(const RunSpec& spec);

 private:
  struct Begun {
    std::optional<RememberedCell> cell;
    std::exception_ptr error;
    bool ended() const { return cell || error; }
  };

  void work();
  void run_next(std::unique_lock<std::mutex>& lock);

  const Run run_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable news_;
  std::deque<RunSpec> asked_;           // a caller waits for them
  std::deque<RunSpec> prefetched_;      // announced only
  std::map<std::string, Begun> begun_;  // by row_name()
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headroom
