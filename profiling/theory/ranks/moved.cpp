#include "profiling/theory/ranks/moved.h"

#include <algorithm>
#include <utility>

namespace headroom {

std::string moved_key(const MovedRow& row) {
  return to_string(row.axis) + (row.between_copies ? " copies " : " ") + word_of(row.kind);
}

std::map<std::string, int64_t> moved_sums(const std::vector<MovedRow>& rows) {
  std::map<std::string, int64_t> sums;
  for (const MovedRow& row : rows) {
    if (row.bytes() > 0) sums[moved_key(row)] += row.bytes();
  }
  return sums;
}

void MovedCount::add(MovedRow call) {
  const auto same = std::find_if(rows_.rbegin(), rows_.rend(), [&](const MovedRow& row) {
    return row.axis == call.axis && row.between_copies == call.between_copies &&
           row.kind == call.kind && row.phase == call.phase && row.tensor == call.tensor &&
           row.derivation == call.derivation;
  });
  if (same != rows_.rend()) {
    ++same->times;
    return;
  }
  call.times = 1;
  rows_.push_back(std::move(call));
}

}  // namespace headroom
