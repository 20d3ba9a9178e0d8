// Cells that a search will ask for, run before it does. No torch here.
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
// Rationale: a cell uses one core, and a search goes from cell to cell: the next one may hang on
//   what the last one said. Mostly it does not: theory knows which will be asked for.
// Approach: the search says what it will ask for if the card does as theory says, and goes on one
//   by one: a cell that it asks for is begun at once, before those that it only spoke of, on as
//   many threads as there are cores. So what it finds, and the order in which it hears of it, are
//   those of one core. Each cell is run once.
// Limits: where the card says otherwise, cells were run in vain; they are in the file of Records
//   for the next search. At the end those that have begun are waited for.
class CellsAhead {
 public:
  using Run = std::function<RememberedCell(const RunSpec&)>;

  // at_once: how many run beside each other. `run` is called from several threads at once.
  CellsAhead(Run run, size_t at_once);
  ~CellsAhead();
  CellsAhead(const CellsAhead&) = delete;
  CellsAhead& operator=(const CellsAhead&) = delete;

  // What will be asked for next, in this order, in place of what was said before and is not begun.
  void foretell(const std::vector<RunSpec>& specs);

  // Returns when it is known. Throws what `run` threw.
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
  std::mutex mutex_;  // of what follows
  std::condition_variable news_;
  std::deque<RunSpec> asked_;           // somebody waits for them
  std::deque<RunSpec> foretold_;        // nobody does yet
  std::map<std::string, Begun> begun_;  // by row_name()
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headroom
