#include "train/offload/host_arena.h"

#include <gtest/gtest.h>

#include <random>

namespace headroom {
namespace {

int64_t bytes_of(const HostArena::Buffer& buffer) {
  int64_t bytes = 0;
  for (const torch::Tensor& part : buffer.parts()) bytes += part.numel();
  return bytes;
}

TEST(HostArena, ABufferHasTheBytesThatWereAskedForInPartsOfSlabs) {
  const auto arena = HostArena::make(/*pinned=*/false, /*limit_bytes=*/0);
  const auto buffer = arena->take(HostRanges::kSlab + 10);
  EXPECT_EQ(bytes_of(*buffer), HostRanges::kSlab + 10);
  EXPECT_EQ(buffer->parts().size(), 2);
  EXPECT_EQ(arena->slab_bytes(), 2 * HostRanges::kSlab);
}

TEST(HostArena, WhatIsGivenBackIsGivenOutAgainInWhateverPieces) {
  const auto arena = HostArena::make(false, 0);
  std::vector<std::shared_ptr<HostArena::Buffer>> buffers;
  for (int i = 0; i < 1000; ++i) buffers.push_back(arena->take(60'000));
  const int64_t held = arena->slab_bytes();
  for (size_t i = 0; i < buffers.size(); i += 2) buffers[i].reset();
  const auto large = arena->take(500 * 60'000);  // spans all the holes
  EXPECT_EQ(arena->slab_bytes(), held);
}

TEST(HostArena, NoTwoBuffersShareAByte) {
  const auto arena = HostArena::make(false, 0);
  std::mt19937 random(1);
  std::vector<std::pair<std::shared_ptr<HostArena::Buffer>, int>> buffers;
  for (int i = 0; i < 2000; ++i) {
    if (!buffers.empty() && random() % 3 == 0) {
      buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(random() % buffers.size()));
      continue;
    }
    const auto buffer = arena->take(1 + static_cast<int64_t>(random() % 3'000'000));
    for (const torch::Tensor& part : buffer->parts()) part.fill_(i % 251);
    buffers.emplace_back(buffer, i % 251);
    if (buffers.size() > 60) buffers.erase(buffers.begin());
  }
  for (const auto& [buffer, mark] : buffers) {
    for (const torch::Tensor& part : buffer->parts())
      ASSERT_TRUE((part == mark).all().item<bool>());
  }
}

TEST(HostArena, BeyondItsLimitItIsOutOfMemoryAndStaysAsItWas) {
  const auto arena = HostArena::make(false, 2 * HostRanges::kSlab);
  const auto first = arena->take(HostRanges::kSlab);
  EXPECT_THROW(arena->take(HostRanges::kSlab + 1), c10::OutOfMemoryError);
  EXPECT_NO_THROW(arena->take(HostRanges::kSlab));
}

}  // namespace
}  // namespace headroom
