// Storage of the blocks' parameters while they are not on the card.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/offload/host_arena.h"
#include "train/offload/states/host_states.h"

namespace headroom {

class BlockStorage {
 public:
  using Tensors =
      std::vector<torch::Tensor>;  // vectors of uint8, one for each parameter of a block
  using Slabs = std::vector<torch::Tensor>;
  // The place of one parameter.
  struct Place {
    int64_t block = 0;
    size_t index = 0;
  };

  virtual ~BlockStorage() = default;

  // Adds a block and copies its numbers out. Afterwards their memory on the card may be reused.
  virtual void take(const Tensors& from) = 0;

  // Begins fetching a block.
  virtual void fetch(int64_t block, const Tensors& to) = 0;
  // Later work on the calling thread's stream runs after the fetch.
  virtual void wait(int64_t block) = 0;
  // Makes the block's memory on the card reusable, even if its fetch failed.
  virtual void leave(int64_t block) = 0;

  // Memory for writing new numbers directly; null: use store().
  virtual std::shared_ptr<HostArena::Buffer> in_memory(Place place) const = 0;
  virtual void store(Place place, const HostArena::Buffer& numbers) = 0;
  // Waits until everything stored is in place.
  virtual void finish_stores() {}

  // Copies to or from a vector of uint8 on the host, complete on return.
  virtual void read(Place place, const torch::Tensor& to) = 0;
  virtual void write(Place place, const torch::Tensor& from) = 0;

  virtual const Slabs& slabs() const = 0;
  virtual DiskFigures disk() const { return {}; }
  // Notes for the user, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace headroom
