#include "train/offload/host_arena.h"

#include <algorithm>

#include "text/quantity.h"
#include "train/offload/host_budget.h"

namespace headroom {
namespace {

// CUDA reports refused pinned memory as a general error with the same "out of memory" as the
// card's.
torch::Tensor pinned_slab(int64_t bytes, int64_t taken) {
  HostBudget& budget = HostBudget::instance();
  TORCH_CHECK_WITH(OutOfMemoryError, budget.lets(bytes),
                   "pinned host memory for offload: ", format_bytes(bytes), " more requested with ",
                   format_bytes(budget.pinned), " of pinned and ", format_bytes(budget.ordinary),
                   " of pageable memory live, of ", format_bytes(budget.limit),
                   " allowed (--host-memory)");
  try {
    torch::Tensor slab = torch::empty({bytes}, torch::dtype(torch::kUInt8).pinned_memory(true));
    budget.pinned += bytes;
    return slab;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("out of memory") == std::string::npos) throw;
    TORCH_CHECK_WITH(OutOfMemoryError, false,
                     "pinned host memory for offload: ", format_bytes(taken), " are taken, ",
                     format_bytes(bytes), " more were refused by the host (",
                     text.substr(0, text.find('\n')), ")");
  }
}

torch::Tensor ordinary_slab(int64_t bytes, bool page_aligned) {
  constexpr uintptr_t kPage = HostRanges::kUnit;
  if (!page_aligned) return torch::empty({bytes}, torch::kUInt8);
  const torch::Tensor memory = torch::empty({bytes + int64_t{kPage}}, torch::kUInt8);
  const auto address = reinterpret_cast<uintptr_t>(memory.data_ptr());
  return memory.narrow(0, static_cast<int64_t>((kPage - address % kPage) % kPage), bytes);
}

}  // namespace

std::shared_ptr<HostArena> HostArena::make(bool pinned, int64_t limit_bytes, bool page_aligned) {
  return std::shared_ptr<HostArena>(new HostArena(pinned, limit_bytes, page_aligned && !pinned));
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

HostArena::~HostArena() {
  if (pinned_) HostBudget::instance().pinned -= slab_bytes();
}

void HostArena::add_slab() {
  constexpr int64_t kSlab = HostRanges::kSlab;
  TORCH_CHECK_WITH(OutOfMemoryError, limit_bytes_ == 0 || slab_bytes() + kSlab <= limit_bytes_,
                   "host memory for offload: ", format_bytes(slab_bytes()), " are taken, ",
                   format_bytes(kSlab), " more would go beyond the limit of ",
                   format_bytes(limit_bytes_));
  slabs_.push_back(pinned_ ? pinned_slab(kSlab, slab_bytes())
                           : ordinary_slab(kSlab, page_aligned_));
}

void gather(const HostArena::Buffer& from, const torch::Tensor& to) {
  int64_t at = 0;
  for (const torch::Tensor& part : from.parts()) {
    to.narrow(0, at, part.numel()).copy_(part, /*non_blocking=*/true);
    at += part.numel();
  }
}

void scatter(const torch::Tensor& from, const HostArena::Buffer& to) {
  int64_t at = 0;
  for (const torch::Tensor& part : to.parts()) {
    part.copy_(from.narrow(0, at, part.numel()), /*non_blocking=*/true);
    at += part.numel();
  }
}

void for_each_common_part(const HostArena::Buffer& one, const HostArena::Buffer& other,
                          const std::function<void(torch::Tensor&, torch::Tensor&)>& use) {
  size_t i = 0;
  int64_t used = 0;  // in other's part i
  for (const torch::Tensor& part : one.parts()) {
    int64_t at = 0;
    while (at < part.numel()) {
      const int64_t bytes = std::min(part.numel() - at, other.parts()[i].numel() - used);
      torch::Tensor piece = part.narrow(0, at, bytes);
      torch::Tensor others = other.parts()[i].narrow(0, used, bytes);
      use(piece, others);
      at += bytes;
      used += bytes;
      if (used < other.parts()[i].numel()) continue;
      ++i;
      used = 0;
    }
  }
}

}  // namespace headroom
