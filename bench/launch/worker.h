// Processes of the cell program that run one cell after another. No torch here.
//
// Note [Warm workers]
// Rationale: loading libtorch takes longer than a training cell of 2.7B on a virtual card.
// Approach: `headroom-cell --serve` reads requests from stdin as they come and answers each with
// a line: its Record, or {"declined": "why"}, after which it ends. Before each cell it puts back
// what the one before left behind (bench/cell/as_new.h), so that a Record is the one that a new
// process gives; a test holds this for every row of the technique contract and for drawn pairs
// of cells. run_one() starts a new process where that cannot be promised:
// - The cell is not on a virtual card. A real card's context counts, and times on the CPU are
//   of a process by itself.
// - It has files, or ranks that talk to each other, or its steps are watched. A worker that was
//   started for one number of a rank serves the ranks of this number that run alone.
// - The worker declined, crashed, or gave a Record that says "failed" after other cells.
// A worker whose cell ran out of host memory is not asked again. libtorch reads an --alloc-conf
// once, so a worker serves the cells of the one that it was started with.
// Limits: a worker that is killed costs the cell that it was at. One takes about 0.5 GiB of host
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
  // Starts it. Throws std::runtime_error when this process is out of file descriptors or threads.
  CellWorker(std::string program, std::vector<std::string> environment);
  ~CellWorker();  // kills it
  CellWorker(const CellWorker&) = delete;
  CellWorker& operator=(const CellWorker&) = delete;

  // Sends `request`, a line, and returns the answer, a line; none when the process ended first or
  // was killed after deadline_seconds (0 = never), which outcome() tells. on_error_line hears what
  // it says on stderr meanwhile, on the caller's thread; the worker is of no use after it threw.
  std::optional<std::string> ask(const std::string& request, double deadline_seconds,
                                 const std::function<void(const std::string& line)>& on_error_line);

  // The answer to a request that is no cell, as of ask().
  std::optional<std::string> ask_aside(const std::string& request, double deadline_seconds);

  bool was_sent() const {
    return was_sent_;
  }  // the last request; else the process had ended before it
  bool ended();
  const Outcome& outcome() const { return outcome_; }  // of a process that ended
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
  int input_ = -1;  // our end of its stdin
  size_t answers_ = 0;
  bool was_sent_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable news_;
  std::deque<Line> lines_;
  bool ended_ = false;
  Outcome outcome_;
  std::thread thread_;  // waits for the process
};

// Workers between their cells. May be used from several threads at once.
class WarmWorkers {
 public:
  // at_most: how many are kept.
  explicit WarmWorkers(size_t at_most) : at_most_(at_most) {}

  // One that was started so, or a new one.
  std::unique_ptr<CellWorker> take(const std::string& program,
                                   const std::vector<std::string>& environment);
  void give_back(std::unique_ptr<CellWorker> worker);

 private:
  const size_t at_most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CellWorker>> idle_;  // the one that was used last at the end
};

}  // namespace headroom
