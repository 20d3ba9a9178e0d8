#include "train/offload/disk/counted_states.h"

namespace headroom {

void CountedStates::step(std::span<const int> order, const Visit& update) {
  for (const int region : order) {
    for (const StateBlock& block : layout_.blocks_of(region)) {
      update({.region = region, .first = block.first, .numbers = block.numbers});
    }
  }
  ++steps_;
}

DiskFigures CountedStates::disk() const {
  return {.files = layout_.both_files_bytes(),
          .buffers = DiskLayout::kUsualBuffers * layout_.block_bytes(),
          .read = steps_ * layout_.state_bytes(),
          .written = steps_ * layout_.state_bytes()};
}

}  // namespace headroom
