#include "train/offload/resident_blocks.h"

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
  if (--block.holders > 0 || index == backward_ - 1) return;
  block.is_there = false;
  drop(index);
}

void ResidentBlocks::begin_run(int64_t index) {
  hold(index);
  const int64_t end = in_backward() ? backward_ : count();
  if (index + 1 < end) bring(index + 1);
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
  if (index > 0) bring(index - 1);
}

void ResidentBlocks::end_backward() { let_go(std::exchange(backward_, kNone)); }

}  // namespace headroom
