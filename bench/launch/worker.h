// Processes of the cell program that run one cell after another. No torch here.
//
// Note [Warm workers]
// Rationale: loading libtorch takes longer than a training cell of 2.7B on a virtual card.
// Approach: `headroom-cell --serve` reads requests from stdin and answers each with a line: its
// Record, or {"declined": "why"}, after which it ends. Before each cell it removes the previous
// one's leftovers (bench/cell/as_new.h), so that the Record equals that of a new process; a test
// checks this for every row of the technique contract and for drawn pairs of cells. run_one()
// starts a new process if that cannot be guaranteed:
// - The cell is not on a virtual card. A real card's context counts, and times on the CPU need
//   a separate process.
// - It has files, or ranks that communicate, or its steps are watched. A worker that was started
//   for one rank number serves the lone ranks of this number.
// - The worker declined, crashed, or gave a failed Record after other cells.
// A worker whose cell ran out of host memory is not used again. libtorch reads an --alloc-conf
// once, so a worker serves only cells with the one that it was started with.
// Limits: if a worker is killed, its current cell is lost. One takes about 0.5 GiB of host
// memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/process/child_process.h"

namespace headroom {

class CellWorker {
 public:
  // Starts it. Throws std::runtime_error if this process is out of file descriptors or threads.
  CellWorker(std::string program, std::vector<std::string> environment);
  ~CellWorker();  // kills it
  CellWorker(const CellWorker&) = delete;
  CellWorker& operator=(const CellWorker&) = delete;

  // Sends `request`, a line, and returns the answer, a line; none if the process ended first or was
  // killed after deadline_seconds (0 = never), see outcome(). on_error_line gets the stderr lines
  // meanwhile, on the caller's thread; the worker is unusable after it threw.
  std::optional<std::string> ask(const std::string& request, double deadline_seconds,
                                 const std::function<void(const std::string& line)>& on_error_line);

  // The answer to a request that is no cell, as of ask().
  std::optional<std::string> ask_aside(const std::string& request, double deadline_seconds);

  bool was_sent() const {
    return was_sent_;
  }  // the last request; false if the process had ended before it
  bool ended();
  const Outcome& outcome() const { return outcome_; }  // after the process ended
  size_t answers() const { return answers_; }
  bool fits(const std::string& program, const std::vector<std::string>& environment) const {
    return program_ == program && environment_ == environment;
  }

 private:
  struct Line {
    bool is_error = false;
    std::string text;
  };

  void run(int input);
  void add(bool is_error, const std::string& text);

  const std::string program_;
  const std::vector<std::string> environment_;
  StopSignal stop_;
  int input_ = -1;  // our end of its stdin pipe
  size_t answers_ = 0;
  bool was_sent_ = false;
  std::mutex mutex_;  // for the members below
  std::condition_variable news_;
  std::deque<Line> lines_;
  bool ended_ = false;
  Outcome outcome_;
  std::thread thread_;  // waits for the process
};

// Idle workers. Thread-safe.
class WarmWorkers {
 public:
  // at_most: the number of workers kept.
  explicit WarmWorkers(size_t at_most) : at_most_(at_most) {}

  // An idle worker with this program and environment, or a new one.
  std::unique_ptr<CellWorker> take(const std::string& program,
                                   const std::vector<std::string>& environment);
  void give_back(std::unique_ptr<CellWorker> worker);

 private:
  const size_t at_most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CellWorker>> idle_;  // the most recently used last
};

}  // namespace headroom
