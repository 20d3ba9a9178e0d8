// Tracks the used bytes of a host arena. No torch here: theory's rehearsal uses the same
// accounting.
//
// Note [One arena in slabs]
// Rationale: libtorch's allocator of pinned memory rounds every request up to a power of two: 20
//   MiB take 32. A step's offloaded tensors come back in the opposite order, the same every step.
// Approach: slabs of kSlab bytes, a power of two, split into ranges of whole kUnit bytes, the
//   lowest free one first. A request may span several ranges and slabs, so there is no
//   fragmentation: the arena holds the most bytes needed at once, rounded up to a slab.
// Limits: not thread-safe. Slabs are never freed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace headroom {

class HostRanges {
 public:
  static constexpr int64_t kSlab = int64_t{64} << 20;
  static constexpr int64_t kUnit = 4096;

  // A range inside one slab; slab i begins at i * kSlab.
  struct Range {
    int64_t first = 0;
    int64_t end = 0;  // one past the last
  };

  // Ranges in ascending order, together `bytes` rounded up to whole units. `add_slab` is called
  // before another slab is used; if it throws, nothing changes.
  std::vector<Range> take(int64_t bytes, const std::function<void()>& add_slab);
  void give_back(const std::vector<Range>& ranges);

  int64_t slab_bytes() const { return slabs_ * kSlab; }

 private:
  void give_back(Range range);

  int64_t slabs_ = 0;
  std::map<int64_t, int64_t> free_;  // first byte -> one past the last
};

}  // namespace headroom
