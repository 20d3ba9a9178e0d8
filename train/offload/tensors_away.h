// Tensors that leave the card together and come back together.
//
// They stay the tensors they are: the memory of their storages goes and comes, so that modules and
// optimizers that hold them know nothing of it. Nobody may compute with them meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/torch.h"
#include "train/offload/copy_queue.h"
#include "train/offload/host_arena.h"

namespace headroom {

class TensorsAway {
 public:
  enum class Numbers {
    kConstant,  // the host's copy, once made, stays good: afterwards leaving copies nothing
    kChange,    // every leaving is a copy
  };
  TensorsAway(Numbers numbers, std::shared_ptr<CopyQueue> copies, std::shared_ptr<HostArena> arena)
      : numbers_(numbers), copies_(std::move(copies)), arena_(std::move(arena)) {}

  // Each storage once, whole; what has no memory of its own there is left out. Afterwards that
  // memory is anybody's. Constant ones are the same every time. Throws what HostArena::take throws,
  // before anything has left.
  void leave(const std::vector<torch::Tensor>& tensors);
  // What the calling thread gives its stream from now on finds the numbers there. Throws the card's
  // out-of-memory before anything is copied.
  void come_back();

  bool are_away() const { return !away_.empty(); }

 private:
  Numbers numbers_;
  std::shared_ptr<CopyQueue> copies_;
  std::shared_ptr<HostArena> arena_;
  std::vector<std::shared_ptr<HostArena::Buffer>> homes_;  // of each storage, kept
  std::vector<int64_t> home_bytes_;                        // their sizes
  std::vector<c10::Storage> away_;                         // without memory now
};

}  // namespace headroom
