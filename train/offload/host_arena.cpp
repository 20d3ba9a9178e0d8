#include "train/offload/host_arena.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {

std::shared_ptr<HostArena> HostArena::make(bool pinned, int64_t limit_bytes) {
  return std::shared_ptr<HostArena>(new HostArena(pinned, limit_bytes));
}

HostArena::Buffer::Buffer(std::shared_ptr<HostArena> arena, int64_t bytes)
    : arena_(std::move(arena)),
      ranges_(arena_->ranges_.take(bytes, [this] { arena_->add_slab(); })) {
  for (const auto& [first, end] : ranges_) {
    const torch::Tensor& slab = arena_->slabs_[static_cast<size_t>(first / HostRanges::kSlab)];
    const int64_t used = std::min(bytes, end - first);
    parts_.push_back(slab.narrow(0, first % HostRanges::kSlab, used));
    bytes -= used;
  }
}

void HostArena::add_slab() {
  constexpr int64_t kSlab = HostRanges::kSlab;
  TORCH_CHECK_WITH(OutOfMemoryError, limit_bytes_ == 0 || slab_bytes() + kSlab <= limit_bytes_,
                   "host memory for offload: ", format_bytes(slab_bytes()), " are taken, ",
                   format_bytes(kSlab), " more would go beyond the limit of ",
                   format_bytes(limit_bytes_));
  slabs_.push_back(torch::empty({kSlab}, torch::dtype(torch::kUInt8).pinned_memory(pinned_)));
}

}  // namespace headroom
