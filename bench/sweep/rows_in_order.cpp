#include "bench/sweep/rows_in_order.h"

namespace headroom {

void RowsInOrder::ended(size_t cell) {
  if (expected_.erase(cell) == 0 || waiting_.size() >= kMostWaiting) return write_(cell);
  waiting_.insert(cell);
  while (!waiting_.empty() && (expected_.empty() || *waiting_.begin() < *expected_.begin())) {
    const size_t next = *waiting_.begin();
    waiting_.erase(next);
    write_(next);
  }
}

void RowsInOrder::finish() {
  expected_.clear();
  for (const size_t cell : waiting_) write_(cell);
  waiting_.clear();
}

}  // namespace headroom
