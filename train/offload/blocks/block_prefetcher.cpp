#include "train/offload/blocks/block_prefetcher.h"

#include <algorithm>
#include <utility>

namespace headroom {

void BlockPrefetcher::end_at(const std::vector<int64_t>& last_blocks) {
  for (const int64_t index : last_blocks) at(index).ends_piece = true;
}

int64_t BlockPrefetcher::first_of_piece(int64_t index) const {
  while (index > 0 && !blocks_[static_cast<size_t>(index - 1)].ends_piece) --index;
  return index;
}

int64_t BlockPrefetcher::end_of_piece(int64_t index) const {
  while (index + 1 < count() && !blocks_[static_cast<size_t>(index)].ends_piece) ++index;
  return index + 1;
}

void BlockPrefetcher::begin_step() {
  backward_ = kNone;
  for (int64_t index = 0; index < count(); ++index) {
    Block& block = at(index);
    block.holders = 0;
    if (std::exchange(block.is_there, false)) drop(index);
  }
}

void BlockPrefetcher::bring(int64_t index) {
  if (!std::exchange(at(index).is_there, true)) fetch(index);
}

void BlockPrefetcher::hold(int64_t index) {
  bring(index);
  wait_for(index);
  ++at(index).holders;
}

void BlockPrefetcher::let_go(int64_t index) {
  Block& block = at(index);
  if (--block.holders > 0 || is_next_in_backward(index)) return;
  block.is_there = false;
  drop(index);
}

bool BlockPrefetcher::is_next_in_backward(int64_t index) const {
  return in_backward() && index < backward_ && index >= earliest_ahead(backward_);
}

int64_t BlockPrefetcher::earliest_ahead(int64_t index) const {
  return std::max(first_of_piece(index), index - ahead_);
}

void BlockPrefetcher::begin_run(int64_t index) {
  hold(index);
  const int64_t end = std::min(in_backward() ? backward_ : end_of_piece(index), index + 1 + ahead_);
  for (int64_t next = index + 1; next < end; ++next) bring(next);
}

void BlockPrefetcher::end_run(int64_t index, bool with_graph) {
  if (with_graph && !in_backward() && (stay_ || is_last(index))) {
    --at(index).holders;
  } else {
    let_go(index);
  }
}

void BlockPrefetcher::begin_backward(int64_t index) {
  const int64_t after = std::exchange(backward_, index);
  if (after != kNone) let_go(after);
  hold(index);
  for (int64_t next = index - 1; next >= earliest_ahead(index); --next) bring(next);
}

void BlockPrefetcher::end_backward() { let_go(std::exchange(backward_, kNone)); }

}  // namespace headroom
