// Stores the blocks' parameters in host memory, pinned for a card.
#pragma once

#include "train/offload/blocks/block_storage.h"
#include "train/offload/copy_queue.h"

namespace headroom {

class HostBlockStorage final : public BlockStorage {
 public:
  HostBlockStorage(bool pinned, std::shared_ptr<CopyQueue> copies)
      : copies_(std::move(copies)), arena_(HostArena::make(pinned, /*limit_bytes=*/0)) {}
  ~HostBlockStorage() override;
  HostBlockStorage(const HostBlockStorage&) = delete;
  HostBlockStorage& operator=(const HostBlockStorage&) = delete;

  void take(const Tensors& from) override;
  void fetch(int64_t block, const Tensors& to) override;
  void wait(int64_t block) override;
  void leave(int64_t block) override { wait(block); }
  std::shared_ptr<HostArena::Buffer> in_memory(Place place) const override {
    return blocks_[static_cast<size_t>(place.block)].buffers[place.index];
  }
  void store(Place place, const HostArena::Buffer& numbers) override;
  void read(Place place, const torch::Tensor& to) override { gather(*in_memory(place), to); }
  void write(Place place, const torch::Tensor& from) override { scatter(from, *in_memory(place)); }
  const Slabs& slabs() const override { return arena_->slabs(); }

 private:
  struct Block {
    std::vector<std::shared_ptr<HostArena::Buffer>> buffers;
    std::vector<std::unique_ptr<Copy>> on_the_way;
  };

  std::shared_ptr<CopyQueue> copies_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Block> blocks_;
};

}  // namespace headroom
