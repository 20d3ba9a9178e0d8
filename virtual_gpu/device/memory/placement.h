// The pages of a block: the order in which the driver uses the addresses of a device.
//
// Note [Placement]
// Rationale: libtorch's allocator takes the smallest free block that fits, breaks ties by the
//   lowest address, and leaves remainders of under 1 MiB unsplit. So the addresses from cudaMalloc
//   influence peaks, by up to some MiB.
// Approach: the rules that real cards show (tests/virtual_gpu/device/placement_test.cpp replays
//   them; Linux, 2025 and 2026):
//     1. A block goes into a hole beside other live blocks if one is long enough: of all such
//        regions into the newest, there into the shortest hole, the lower first.
//     2. Else it begins a region of its own, rounded up to 32 MiB. The region is the upper end of
//        the highest free addresses that are longer than it, or as long (Gaps). So with nothing
//        freed, each region lies right below the one before.
//     3. A region without a live block is freed at once, and its addresses join those beside it.
//   Measured on an H100 (driver 580.159.04): in five random sequences of 1500 calls of cudaMalloc
//   and cudaFree the rules give every address, but for the 43 of 3951 blocks that the driver put
//   into regions of its own. No region there fills a gap that is exactly as long.
//   Gaps: the host's kernel decides. Linux 6.7 aligns an anonymous mapping of 2 MiB or more to huge
//   pages ("mm: align larger anonymous mappings on THP boundaries", efa7df3e3bb5), and needs 2 MiB
//   of free addresses more for it. The H100's host has Linux 6.18, where mmap alone, without a
//   driver, does the same. An older kernel fills a gap exactly: a log of a TITAN RTX of 2025
//   (results/virtual/titan_rtx.md) has 255 of 264 figures equal so, and 199 with longer gaps. The
//   newer kernel is the default; a card's "host_linux" (cards.json) names an older one.
//   Seen in memory_viz snapshots: of 5007 placements in two processes
//   (kkaitlyn111/cs336-a2-systems, six and three snapshots in a row) rule 1 decides between hole
//   and region in every one, and predicts the address of 1676 of 1687 holes; "the lowest hole that
//   fits" predicts 1579. The 11 others lie in regions that hold something else, or that were longer
//   than known. In two first steps of processes (the same, and cranberrii/ftcourse), 755 of 758
//   regions lie right below the one before; the 3 others, and the gaps in later regions, are
//   addresses of the host, the same in each. With exact gaps the code behind
//   results/published/a800_cs336.json, in one process and with its older torch's slice restored,
//   gives all its figures to the last digit.
// Limits: it is inferred from the addresses that the driver maps its regions so. The rehearsal of
//   theory knows the newer kernel only. Here only the program's blocks have addresses: on the H100
//   the driver's regions hold blocks too. The context leaves holes of 2 and 24 MiB, and the first
//   launch of a kernel leaves one of 404 MiB. Handles of cuBLAS, modules and the host's own
//   mappings take addresses between the program's regions. results/h100-80gb/exactness.md shows
//   the effect on peaks.
//   Assumptions: where no free addresses are longer than a region, some as long will do; without
//   those, an unrounded region is made. A page of small blocks is placed as a block of one page.
//   Pools (cudaMallocAsync) have addresses as from cudaMalloc. Expandable segments have address
//   ranges of their own (mapping.h), wherever the host has room: libtorch keeps one per stream and
//   pool, so their order has no effect. On Windows addresses go upwards
//   (Wedsonlin/assignment2-systems); that is not modelled.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace virtual_gpu {

// The free addresses that a new region needs: longer than it, or as long (Linux before 6.7).
enum class Gaps { kLonger, kExact };

class Placement {
 public:
  static constexpr uint32_t kRegionPages = 16;  // of 2 MiB

  // Allocates from pages [0, pages).
  explicit Placement(uint32_t pages, Gaps gaps = Gaps::kLonger);

  // The first of `count` pages; nullopt if no addresses are left. count > 0.
  std::optional<uint32_t> take(uint32_t count);
  // A block that take() placed.
  void give(uint32_t first, uint32_t count);

 private:
  using Runs = std::map<uint32_t, uint32_t>;  // first page -> count
  struct Region {
    uint32_t count;
    uint32_t used;
    uint64_t made;     // sequence number of the region
    uint32_t longest;  // longest hole; an upper bound
    Runs holes;
  };
  using Regions = std::map<uint32_t, Region>;  // by first page
  // Regions with a hole, the newest first: `made` -> first page. One map for each length of the
  // longest hole; a hole as long as a region or longer is in the last.
  using Newest = std::map<uint64_t, uint32_t, std::greater<>>;

  Newest& shelf(const Region& region);
  void file(Regions::iterator region, uint32_t longest);
  std::optional<uint32_t> newest_with(uint32_t count) const;
  std::optional<uint32_t> take_hole(Regions::iterator region, uint32_t count);
  std::optional<uint32_t> make_region(uint32_t count);

  Gaps gaps_;
  Runs unreserved_;
  Regions regions_;
  std::array<Newest, kRegionPages + 1> shelves_;
  uint64_t made_ = 0;
};

}  // namespace virtual_gpu
