#include "train/offload/resident_blocks.h"

#include <algorithm>
#include <utility>

namespace headroom {

void ResidentBlocks::begin_step() {
  backward_ = kNone;
  for (int64_t index = 0; index < count(); ++index) {
    Block& block = at(index);
    block.holders = 0;
    if (std::exchange(block.is_there, false)) drop(index);
  }
}

void ResidentBlocks::bring(int64_t index) {
  if (!std::exchange(at(index).is_there, true)) fetch(index);
}

void ResidentBlocks::hold(int64_t index) {
  bring(index);
  wait_for(index);
  ++at(index).holders;
}

void ResidentBlocks::let_go(int64_t index) {
  Block& block = at(index);
  if (--block.holders > 0 || is_next_in_backward(index)) return;
  block.is_there = false;
  drop(index);
}

bool ResidentBlocks::is_next_in_backward(int64_t index) const {
  return in_backward() && index < backward_ && index >= backward_ - ahead_;
}

void ResidentBlocks::begin_run(int64_t index) {
  hold(index);
  const int64_t end = std::min(in_backward() ? backward_ : count(), index + 1 + ahead_);
  for (int64_t next = index + 1; next < end; ++next) bring(next);
}

void ResidentBlocks::end_run(int64_t index, bool with_graph) {
  if (with_graph && !in_backward() && (stay_ || index + 1 == count())) {
    --at(index).holders;
  } else {
    let_go(index);
  }
}

void ResidentBlocks::begin_backward(int64_t index) {
  const int64_t after = std::exchange(backward_, index);
  if (after != kNone) let_go(after);
  hold(index);
  for (int64_t next = index - 1; next >= std::max<int64_t>(0, index - ahead_); --next) bring(next);
}

void ResidentBlocks::end_backward() { let_go(std::exchange(backward_, kNone)); }

}  // namespace headroom
