// Where the blocks' parameters lie while they are not on the card.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/offload/host_arena.h"
#include "train/offload/host_states.h"

namespace headroom {

class BlockStorage {
 public:
  using Tensors =
      std::vector<torch::Tensor>;  // vectors of uint8, one for each parameter of a block
  using Slabs = std::vector<torch::Tensor>;
  // Of one parameter.
  struct Place {
    int64_t block = 0;
    size_t index = 0;
  };

  virtual ~BlockStorage() = default;

  // One more block: its numbers leave. Then their memory on the card is anybody's.
  virtual void take(const Tensors& from) = 0;

  // Asks for the numbers of a block.
  virtual void fetch(int64_t block, const Tensors& to) = 0;
  // What the calling thread gives its stream from now on finds them there.
  virtual void wait(int64_t block) = 0;
  // The memory on the card is anybody's, whatever became of what was asked for.
  virtual void leave(int64_t block) = 0;

  // Where new numbers may be written right away; null: store() takes them.
  virtual std::shared_ptr<HostArena::Buffer> in_memory(Place place) const = 0;
  virtual void store(Place place, const HostArena::Buffer& numbers) = 0;
  // All that was stored is where it lies.
  virtual void finish_stores() {}

  // To and from a vector of uint8 on the host, whole when it returns, or as if it were.
  virtual void read(Place place, const torch::Tensor& to) = 0;
  virtual void write(Place place, const torch::Tensor& from) = 0;

  virtual const Slabs& slabs() const = 0;
  virtual DiskFigures disk() const { return {}; }
  // What the user should know, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace headroom
