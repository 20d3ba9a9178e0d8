// Which bytes of a host arena are whose. No torch here: the rehearsal of theory keeps the same
// books.
//
// Note [One arena in slabs]
// Rationale: libtorch's allocator of pinned memory rounds every request up to a power of two: 20
//   MiB take 32. What a step moves out comes back in the opposite order, the same every step.
// Approach: slabs of kSlab bytes, a power of two, given out in ranges of whole kUnit bytes, the
//   lowest free one first. What is asked for may lie in several ranges and slabs, so nothing is
//   ever lost between two of them: what is held is what was needed at once, rounded up to a slab.
// Limits: not for several threads at once. Slabs are never given back.
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

  // Inside one slab; slab i begins at i * kSlab.
  struct Range {
    int64_t first = 0;
    int64_t end = 0;  // one past the last
  };

  // In ascending order, together `bytes` rounded up to whole units. `add_slab` is called before one
  // more is used; what it throws leaves everything as it was.
  std::vector<Range> take(int64_t bytes, const std::function<void()>& add_slab);
  void give_back(const std::vector<Range>& ranges);

  int64_t slab_bytes() const { return slabs_ * kSlab; }

 private:
  void give_back(Range range);

  int64_t slabs_ = 0;
  std::map<int64_t, int64_t> free_;  // first byte -> one past the last
};

}  // namespace headroom
