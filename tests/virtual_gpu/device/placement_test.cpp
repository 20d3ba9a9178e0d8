#include "virtual_gpu/device/memory/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace virtual_gpu {
namespace {

constexpr uint32_t kMiBPerPage = 2;
constexpr uint32_t kMany = 1 << 20;  // 2 TiB of pages

struct PlacedEvent {
  char what;
  uint32_t below;  // MiB
  uint32_t mib;
};

uint32_t pages(uint32_t mib) { return mib / kMiBPerPage; }

TEST(Placement, RegionsLieOneBelowTheOther) {
  Placement placement(160);
  EXPECT_EQ(placement.take(16), 144U);
  EXPECT_EQ(placement.take(17), 112U) << "rounded up to two regions, the block at its lower end";
  EXPECT_EQ(placement.take(16), 96U);
}

TEST(Placement, TheNewestRegionWithRoomIsTakenAndTheShortestHoleInIt) {
  Placement placement(kMany);
  const uint32_t old = *placement.take(10);
  const uint32_t recent = *placement.take(20);
  EXPECT_EQ(placement.take(6), recent + 20);
  EXPECT_EQ(placement.take(6), recent + 26) << "the old region's hole is as long";
  EXPECT_EQ(placement.take(6), old + 10);
  placement.give(recent, 20);
  placement.give(recent + 26, 6);
  EXPECT_EQ(placement.take(5), recent + 26) << "6 pages are free there, 20 below";
  EXPECT_EQ(placement.take(5), recent);
}

TEST(Placement, ARegionWithNothingInItIsGivenBack) {
  Placement placement(112);
  EXPECT_EQ(placement.take(16), 96U);
  EXPECT_EQ(placement.take(16), 80U);
  EXPECT_EQ(placement.take(16), 64U);
  placement.give(96, 16);
  placement.give(80, 16);
  EXPECT_EQ(placement.take(16), 96U) << "the addresses of the two regions are joined";
  placement.give(64, 16);
  EXPECT_EQ(placement.take(4), 80U) << "the highest that are free";
}

TEST(Placement, ANewRegionTakesFreeAddressesThatAreLonger) {
  Placement placement(160);
  EXPECT_EQ(placement.take(16), 144U);
  EXPECT_EQ(placement.take(16), 128U);
  EXPECT_EQ(placement.take(16), 112U);
  placement.give(128, 16);
  EXPECT_EQ(placement.take(16), 96U) << "128 to 144 are free, and no longer than the region";
  placement.give(112, 16);
  EXPECT_EQ(placement.take(17), 64U) << "112 to 144 are as long as its rounded region";
  EXPECT_EQ(placement.take(16), 128U);
}

TEST(Placement, OnAnOlderHostANewRegionFillsFreeAddressesExactly) {
  Placement placement(160, Gaps::kExact);
  EXPECT_EQ(placement.take(16), 144U);
  EXPECT_EQ(placement.take(16), 128U);
  EXPECT_EQ(placement.take(16), 112U);
  placement.give(128, 16);
  EXPECT_EQ(placement.take(16), 128U);
}

TEST(Placement, WhereNoRoundedRegionFitsAnUnroundedOneIsMade) {
  Placement placement(20);
  EXPECT_EQ(placement.take(16), 4U);
  EXPECT_EQ(placement.take(3), 1U);
  EXPECT_FALSE(placement.take(2));
  EXPECT_EQ(placement.take(1), 0U);
  placement.give(1, 3);
  placement.give(0, 1);
  EXPECT_EQ(placement.take(4), 0U);
}

// The first addresses of a real card, to the MiB: cranberrii/ftcourse at a8cedf2,
// memory_snapshot.pickle, segment_alloc events 14 to 47 (the trace begins amid older segments).
TEST(Placement, ARealCardsSegmentsLieWhereOursDo) {
  constexpr std::array<PlacedEvent, 34> kEvents = {
      {{'+', 3904, 44}, {'+', 3968, 44}, {'+', 4032, 44}, {'+', 3988, 2},  {'+', 3924, 20},
       {'+', 3986, 16}, {'+', 4064, 22}, {'+', 4128, 44}, {'+', 4192, 44}, {'+', 4256, 44},
       {'+', 4212, 20}, {'+', 4148, 16}, {'+', 4084, 20}, {'+', 4288, 22}, {'+', 4352, 44},
       {'+', 4416, 44}, {'+', 4480, 44}, {'+', 4436, 2},  {'+', 4372, 20}, {'+', 4434, 16},
       {'+', 4512, 22}, {'+', 4576, 44}, {'+', 4640, 44}, {'+', 4704, 44}, {'+', 4660, 20},
       {'+', 4596, 16}, {'+', 4532, 20}, {'+', 4736, 22}, {'+', 4800, 44}, {'+', 4864, 44},
       {'+', 4928, 44}, {'+', 4884, 2},  {'+', 4820, 20}, {'+', 4882, 16}}};
  Placement placement(kMany);
  const uint32_t highest = kMany + pages(3840);  // the region above begins there
  for (const PlacedEvent& event : kEvents) {
    EXPECT_EQ(placement.take(pages(event.mib)), highest - pages(event.below)) << event.below;
  }
}

// Two snapshots in a row, with frees. A new region's address depends on the host's own addresses,
// which are not in the trace; the choice between a new region and a hole, and of the hole, does
// not.
struct Replay {
  static constexpr uint32_t kRegionMiB = Placement::kRegionPages * kMiBPerPage;
  Placement placement{kMany};
  std::map<uint32_t, uint32_t> live;     // theirs, MiB (growing upwards) -> our page
  std::map<uint32_t, uint32_t> regions;  // begin -> our first page
  std::map<uint32_t, uint32_t> ends;
  int in_holes = 0;
  int new_regions = 0;
  std::vector<uint32_t> elsewhere;

  static uint32_t up(const PlacedEvent& event) { return (1U << 20) - event.below; }

  std::map<uint32_t, uint32_t>::iterator region_of(uint32_t at) {
    const auto after = regions.upper_bound(at);
    if (after == regions.begin()) return regions.end();
    const auto region = std::prev(after);
    return at < ends[region->first] ? region : regions.end();
  }
  bool is_in_our_regions(uint32_t page) {
    for (const auto& [begin, first] : regions) {
      if (page >= first && page < first + pages(ends[begin] - begin)) return true;
    }
    return false;
  }

  void allocate(const PlacedEvent& event) {
    const uint32_t at = up(event);
    const uint32_t ours = *placement.take(pages(event.mib));
    const auto region = region_of(at);
    const bool is_hole = region != regions.end();
    const bool is_same =
        is_hole ? ours == region->second + pages(at - region->first) : !is_in_our_regions(ours);
    if (!is_same) {
      placement.give(ours, pages(event.mib));
      elsewhere.push_back(event.below);
      return;
    }
    ++(is_hole ? in_holes : new_regions);
    live[at] = ours;
    if (is_hole) return;
    regions[at] = ours;
    ends[at] = at + (event.mib + kRegionMiB - 1) / kRegionMiB * kRegionMiB;
  }

  void release(const PlacedEvent& event) {
    const auto block = live.find(up(event));
    if (block == live.end()) return;
    placement.give(block->second, pages(event.mib));
    const auto region = region_of(block->first);
    live.erase(block);
    const auto next = live.lower_bound(region->first);
    if (next == live.end() || next->first >= ends[region->first]) regions.erase(region);
  }
};

TEST(Placement, ARealCardsHolesAreFilledInOurOrder) {
  constexpr PlacedEvent kEvents[] = {
#include "tests/virtual_gpu/device/placement_events.inc"
  };
  Replay replay;
  for (const PlacedEvent& event : kEvents) {
    event.what == '+' ? replay.allocate(event) : replay.release(event);
  }
  EXPECT_EQ(replay.new_regions, 686);
  EXPECT_EQ(replay.in_holes, 354);
  EXPECT_THAT(replay.elsewhere, testing::IsEmpty());
}

TEST(Placement, ARealCardGivesOurAddressesInRandomOrder) {
  constexpr PlacedEvent kEvents[] = {
#include "tests/virtual_gpu/device/placement_h100.inc"
  };
  Placement placement(kMany);
  for (const PlacedEvent& event : kEvents) {
    const uint32_t page = kMany - pages(event.below);
    if (event.what == '-') {
      placement.give(page, pages(event.mib));
    } else {
      ASSERT_EQ(placement.take(pages(event.mib)), page) << event.mib << " MiB";
    }
  }
}

}  // namespace
}  // namespace virtual_gpu
