// Moves tensors off the card together and brings them back together.
//
// They stay the same tensors: only their storages' memory goes and comes, which modules and
// optimizers do not notice. Nothing may compute with them meanwhile.
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
    kConstant,  // the host's copy stays valid: only the first leave() copies
    kChange,    // every leave() copies
  };
  TensorsAway(Numbers numbers, std::shared_ptr<CopyQueue> copies, std::shared_ptr<HostArena> arena)
      : numbers_(numbers), copies_(std::move(copies)), arena_(std::move(arena)) {}

  // Moves each storage once, whole; skips storages without memory there. Afterwards that memory may
  // be reused. Constant tensors must be the same every time. Throws as HostArena::take, before
  // anything has left.
  void leave(const std::vector<torch::Tensor>& tensors);
  // Later work on the calling thread's stream sees the numbers. Throws the card's out-of-memory
  // error before copying anything.
  void come_back();

  bool are_away() const { return !away_.empty(); }

 private:
  Numbers numbers_;
  std::shared_ptr<CopyQueue> copies_;
  std::shared_ptr<HostArena> arena_;
  std::vector<std::shared_ptr<HostArena::Buffer>> host_buffers_;  // by storage, kept
  std::vector<int64_t> home_bytes_;                               // their sizes
  std::vector<c10::Storage> away_;                                // without memory now
};

}  // namespace headroom
