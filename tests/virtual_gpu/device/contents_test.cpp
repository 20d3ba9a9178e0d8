#include "virtual_gpu/device/memory/contents.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

namespace {

using namespace virtual_gpu;

constexpr uint64_t kBlock = 1 << 20;  // the driver's blocks, one after another

Contents made() {
  return Contents([](uint64_t address) {
    const uint64_t begin = address / kBlock * kBlock;
    return Contents::Extent{begin, begin + kBlock};
  });
}

void write(Contents& contents, uint64_t address, const std::string& text) {
  contents.write(address, text.data(), text.size());
}

std::optional<std::string> read(const Contents& contents, uint64_t address, uint64_t bytes) {
  std::string text(bytes, '?');
  if (contents.read(address, bytes, text.data())) return text;
  EXPECT_EQ(text, std::string(bytes, '?')) << "what is unknown is not written";
  return std::nullopt;
}

TEST(Contents, WhatWasWrittenIsReadWholeAndInPart) {
  Contents contents = made();
  EXPECT_FALSE(contents.any());
  write(contents, kBlock + 64, "abcdef");
  EXPECT_TRUE(contents.any());
  EXPECT_EQ(read(contents, kBlock + 64, 6), "abcdef");
  EXPECT_EQ(read(contents, kBlock + 66, 2), "cd");
  EXPECT_EQ(read(contents, kBlock + 63, 2), std::nullopt) << "begins before what is known";
  EXPECT_EQ(read(contents, kBlock + 69, 2), std::nullopt) << "ends behind it";
}

TEST(Contents, WritesSideBySideAndOverEachOtherAreOne) {
  Contents contents = made();
  write(contents, kBlock, "abcd");
  write(contents, kBlock + 4, "efgh");
  contents.set(kBlock + 2, 'x', 4);
  EXPECT_EQ(read(contents, kBlock, 8), "abxxxxgh");
}

TEST(Contents, ACopyBringsWhatIsKnownAndForgetsTheRest) {
  Contents contents = made();
  write(contents, kBlock, "abcd");
  write(contents, 3 * kBlock, "12345678");
  contents.copy(3 * kBlock, kBlock + 2, 4);
  EXPECT_EQ(read(contents, 3 * kBlock, 2), "cd");
  EXPECT_EQ(read(contents, 3 * kBlock + 2, 1), std::nullopt);
  EXPECT_EQ(read(contents, 3 * kBlock + 4, 4), "5678");
  contents.copy(kBlock + 1, kBlock, 3);
  EXPECT_EQ(read(contents, kBlock, 4), "aabc") << "onto itself";
}

TEST(Contents, AKernelThatIsGivenAPointerMayWriteTheWholeBlock) {
  Contents contents = made();
  write(contents, kBlock + 100, "known");
  write(contents, 2 * kBlock, "other");
  contents.forget_through(kBlock + 5000);
  EXPECT_EQ(read(contents, kBlock + 100, 5), std::nullopt);
  EXPECT_EQ(read(contents, 2 * kBlock, 5), "other");
}

TEST(Contents, BlocksOfTheAllocatorAboveAreSmallerThanTheDrivers) {
  Contents contents = made();
  contents.add_block(kBlock, 512);
  contents.add_block(kBlock + 512, 512);
  write(contents, kBlock, "one");
  write(contents, kBlock + 512, "two");
  contents.forget_through(kBlock + 8);
  EXPECT_EQ(read(contents, kBlock, 3), std::nullopt);
  EXPECT_EQ(read(contents, kBlock + 512, 3), "two");
  contents.remove_block(kBlock + 512);
  EXPECT_EQ(read(contents, kBlock + 512, 3), std::nullopt) << "given back";
}

TEST(Contents, ABlockGivenOutAnewIsUnknown) {
  Contents contents = made();
  write(contents, kBlock, "stale");
  contents.add_block(kBlock, 512);
  EXPECT_EQ(read(contents, kBlock, 5), std::nullopt);
}

TEST(Contents, AnOperationForgetsTheSpanItWritesAndKeepsWhatItReads) {
  Contents contents = made();
  write(contents, kBlock, "abcdefgh");
  write(contents, 2 * kBlock, "input");
  Operands::begin();
  Operands::add({kBlock + 2, kBlock + 4, true});
  Operands::add({2 * kBlock, 2 * kBlock + 5, false});
  contents.forget_through(kBlock + 2);
  contents.forget_through(2 * kBlock);
  EXPECT_EQ(read(contents, kBlock, 2), "ab");
  EXPECT_EQ(read(contents, kBlock + 2, 1), std::nullopt);
  EXPECT_EQ(read(contents, kBlock + 4, 4), "efgh");
  write(contents, kBlock + 2, "yz");
  contents.forget_all();
  EXPECT_EQ(read(contents, kBlock, 2), "ab");
  EXPECT_EQ(read(contents, kBlock + 2, 1), std::nullopt);
  contents.forget_through(kBlock + 4);
  EXPECT_EQ(read(contents, kBlock + 4, 4), "efgh")
      << "a pointer that no operand has is a stale one";
  Operands::end();
  contents.forget_all();
  EXPECT_FALSE(contents.any());
}

TEST(Contents, AnOperationKeepsWhatLiesInTheGapsOfWhatItWrites) {
  Contents contents = made();
  write(contents, kBlock, "abcdefghijkl");
  Operands::begin();  // columns 1 and 2 of three rows of four
  Operands::add({.begin = kBlock + 1, .end = kBlock + 11, .is_written = true, .run = 2, .step = 4});
  contents.forget_through(kBlock + 1);
  for (const uint64_t row : {0, 4, 8}) {
    EXPECT_EQ(read(contents, kBlock + row + 1, 1), std::nullopt);
    EXPECT_EQ(read(contents, kBlock + row + 2, 1), std::nullopt);
  }
  EXPECT_EQ(read(contents, kBlock, 1), "a");
  EXPECT_EQ(read(contents, kBlock + 3, 2), "de");
  EXPECT_EQ(read(contents, kBlock + 7, 2), "hi");
  EXPECT_EQ(read(contents, kBlock + 11, 1), "l");
  Operands::end();
}

TEST(Contents, AnOperationForgetsWhatItTookThoughAnInnerOneMadeItKnown) {
  Contents contents = made();
  write(contents, 2 * kBlock, "input");
  Operands::begin();
  Operands::add({2 * kBlock, 2 * kBlock + 5, false});
  Operands::begin();  // zeros(), called by it
  contents.add_block(kBlock, 512);
  Operands::add({kBlock, kBlock + 8, true});
  Operands::end();
  contents.set(kBlock, 0, 8);
  EXPECT_EQ(read(contents, kBlock, 1), std::string(1, '\0'));
  Operands::begin();  // another operation that reads it
  Operands::add({kBlock, kBlock + 8, false});
  contents.forget_through(kBlock);
  EXPECT_EQ(read(contents, kBlock, 1), std::string(1, '\0'));
  Operands::end();
  contents.forget_through(kBlock);
  contents.forget_through(2 * kBlock);
  EXPECT_EQ(read(contents, kBlock, 1), std::nullopt) << "its kernel writes what it took";
  EXPECT_EQ(read(contents, 2 * kBlock, 5), "input");
  Operands::end();
  write(contents, kBlock, "later");
  Operands::begin();
  contents.forget_through(kBlock);
  EXPECT_EQ(read(contents, kBlock, 5), "later") << "taken by an operation before";
  Operands::end();
}

TEST(Contents, TheOldestBlocksAreForgottenFirst) {
  Contents contents = made();
  const std::string large(Contents::kMostAtOnce, 'x');
  constexpr uint64_t kFits = Contents::kMostBytes / Contents::kMostAtOnce;
  for (uint64_t i = 1; i <= kFits + 1; ++i) write(contents, 2 * i * kBlock, large);
  EXPECT_EQ(read(contents, 2 * kBlock, 1), std::nullopt);
  EXPECT_EQ(read(contents, 4 * kBlock, 1), "x");
  EXPECT_EQ(read(contents, 2 * (kFits + 1) * kBlock, 1), "x");
}

TEST(Contents, MoreThanAMebibyteAtOnceMakesUnknown) {
  Contents contents = made();
  write(contents, kBlock, "known");
  write(contents, kBlock, std::string(Contents::kMostAtOnce + 1, 'x'));
  EXPECT_EQ(read(contents, kBlock, 5), std::nullopt);
}

TEST(Contents, KeepsMoreWhereMoreIsComputed) {
  Contents contents = made();
  contents.keep_more(2 * Contents::kMostAtOnce, 4 * Contents::kMostAtOnce);
  const std::string large(2 * Contents::kMostAtOnce, 'x');
  for (uint64_t i = 1; i <= 3; ++i) write(contents, 4 * i * kBlock, large);
  EXPECT_EQ(read(contents, 4 * kBlock, 1), std::nullopt) << "more than four in all";
  EXPECT_EQ(read(contents, 8 * kBlock, 1), "x");
}

TEST(Contents, WhatNobodyWroteBesideSomethingKnownReadsAsZeros) {
  Contents contents = made();
  contents.complete(kBlock, 8);
  EXPECT_EQ(read(contents, kBlock, 8), std::nullopt) << "nothing is known there";
  write(contents, kBlock + 2, "ab");
  contents.complete(kBlock, 8);
  EXPECT_EQ(read(contents, kBlock, 8), std::string("\0\0ab\0\0\0\0", 8));
}

struct Later : Source {
  explicit Later(bool comes) : comes_(comes) {}
  const Bytes* bytes() override {
    ++asked;
    return comes_ ? &late_ : nullptr;
  }
  int asked = 0;

 private:
  const bool comes_;
  const Bytes late_ = {'l', 'a', 't', 'e'};
};

TEST(Contents, ASourceIsAskedWhenSomebodyReads) {
  Contents contents = made();
  const auto comes = std::make_shared<Later>(true);
  const auto never = std::make_shared<Later>(false);
  contents.put(kBlock, {comes, 0, 4});
  contents.put(2 * kBlock, {never, 0, 4});
  contents.copy(3 * kBlock, kBlock + 1, 3);
  EXPECT_EQ(comes->asked, 0) << "a copy on the card waits for nobody";
  EXPECT_EQ(read(contents, 3 * kBlock, 3), "ate");
  EXPECT_GT(comes->asked, 0);
  EXPECT_EQ(read(contents, 2 * kBlock, 4), std::nullopt);
}

TEST(Contents, ThreadsWriteAndForgetAtOnce) {
  Contents contents = made();
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&contents, id] {
      for (int i = 0; i < 300; ++i) {
        write(contents, id * kBlock, "mine");
        contents.forget_through(5 * kBlock);
        EXPECT_EQ(read(contents, id * kBlock, 4), "mine");
        contents.copy(5 * kBlock, id * kBlock, 4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
