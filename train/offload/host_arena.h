// Host memory for tensors that leave the card: slabs from libtorch's allocator, so that its
// accounting and events cover them. Note [One arena in slabs] in host_ranges.h
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/offload/states/host_ranges.h"

namespace headroom {

class HostArena : public std::enable_shared_from_this<HostArena> {
 public:
  // Bytes of the arena, returned by the destructor.
  class Buffer {
   public:
    Buffer(std::shared_ptr<HostArena> arena, int64_t bytes);
    ~Buffer() { arena_->ranges_.give_back(ranges_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Tensors of uint8; concatenated they are the requested bytes.
    const std::vector<torch::Tensor>& parts() const { return parts_; }

   private:
    std::shared_ptr<HostArena> arena_;
    std::vector<HostRanges::Range> ranges_;
    std::vector<torch::Tensor> parts_;
  };

  // pinned: for copies to and from a card. limit_bytes: for all slabs; 0 = none. page_aligned: each
  // buffer begins at a page, as O_DIRECT needs; pinned buffers always do.
  static std::shared_ptr<HostArena> make(bool pinned, int64_t limit_bytes,
                                         bool page_aligned = false);

  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Throws c10::OutOfMemoryError beyond limit_bytes, the run's limit (host_budget.h) or the host's
  // memory.
  std::shared_ptr<Buffer> take(int64_t bytes) {
    return std::make_shared<Buffer>(shared_from_this(), bytes);
  }

  const std::vector<torch::Tensor>& slabs() const { return slabs_; }
  int64_t slab_bytes() const { return ranges_.slab_bytes(); }

 private:
  HostArena(bool pinned, int64_t limit_bytes, bool page_aligned)
      : pinned_(pinned), limit_bytes_(limit_bytes), page_aligned_(page_aligned) {}
  void add_slab();

  bool pinned_;
  int64_t limit_bytes_;
  bool page_aligned_;
  HostRanges ranges_;
  std::vector<torch::Tensor> slabs_;
};

// Copies a buffer's parts, one after another, to or from a vector of as many bytes (uint8). With a
// card on one side the copies are only queued, on the current stream.
void gather(const HostArena::Buffer& from, const torch::Tensor& to);
void scatter(const torch::Tensor& from, const HostArena::Buffer& to);

// Visits two buffers of equal size, in pieces that lie in one part of both.
void for_each_common_part(const HostArena::Buffer& one, const HostArena::Buffer& other,
                          const std::function<void(torch::Tensor&, torch::Tensor&)>& use);

}  // namespace headroom
