// Writes the rows of concurrent cells in the order of the grid. No torch here.
//
// Note [Rows in order]
// Rationale: tables show rows in the order of the file, but the order in which cells end is random.
// Approach: the row of a cell on a virtual card waits for those of the cells before it, which take
//   a second; beyond kMostWaiting waiting rows, rows are written at once. Rows of real cards and of
//   the CPU are written when their cells end, because they cost more to repeat.
// Limits: SIGKILL loses the waiting rows, at most kMostWaiting; running the sweep again makes them.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <utility>

namespace headroom {

class RowsInOrder {
 public:
  static constexpr size_t kMostWaiting = 16;

  // write(cell): appends its row.
  explicit RowsInOrder(std::function<void(size_t cell)> write) : write_(std::move(write)) {}

  void expect(size_t cell) { expected_.insert(cell); }  // its row will come, and others wait for it
  void ended(size_t cell);                              // its row is ready
  void finish();                                        // writes all waiting rows

 private:
  std::function<void(size_t cell)> write_;
  std::set<size_t> expected_;
  std::set<size_t> waiting_;
};

}  // namespace headroom
