// The times when blocks are fetched and dropped. No torch here.
#include "train/offload/blocks/block_prefetcher.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace headroom {
namespace {

// Records the calls: +2 fetches block 2, =2 waits for it, -2 drops it.
class Written final : public BlockPrefetcher {
 public:
  explicit Written(int64_t blocks, int64_t ahead = 1) : BlockPrefetcher(/*stay=*/false, ahead) {
    for (int64_t i = 0; i < blocks; ++i) add();
  }
  std::string take() { return std::exchange(text_, ""); }

  std::string forward(bool with_graph) {
    for (int64_t i = 0; i < count(); ++i) run(i, with_graph);
    return take();
  }
  void run(int64_t index, bool with_graph = true) {
    begin_run(index);
    end_run(index, with_graph);
  }

 private:
  void write(char what, int64_t index) {
    text_ += (text_.empty() ? "" : " ") + std::string(1, what) + std::to_string(index);
  }
  void fetch(int64_t index) override { write('+', index); }
  void drop(int64_t index) override { write('-', index); }
  void wait_for(int64_t index) override { write('=', index); }

  std::string text_;
};

TEST(BlockPrefetcher, InForwardTheNextOneComesBeforeABlockRunsAndItGoesAfterIt) {
  EXPECT_EQ(Written(3).forward(/*with_graph=*/false), "+0 =0 +1 -0 =1 +2 -1 =2 -2");
}

TEST(BlockPrefetcher, WithAGraphTheLastOneStays) {
  EXPECT_EQ(Written(3).forward(/*with_graph=*/true), "+0 =0 +1 -0 =1 +2 -1 =2");
}

TEST(BlockPrefetcher, InBackwardTheOneBeforeComesBeforeABlocksBackward) {
  Written blocks(3);
  blocks.forward(/*with_graph=*/true);
  for (const int64_t index : {2, 1, 0}) blocks.begin_backward(index);
  EXPECT_EQ(blocks.take(), "=2 +1 -2 =1 +0 -1 =0");
  blocks.end_backward();
  EXPECT_EQ(blocks.take(), "-0");
  EXPECT_FALSE(blocks.in_backward());
}

TEST(BlockPrefetcher, AGroupThatIsComputedAgainLeavesTheOneThatBackwardGoesToNext) {
  Written blocks(6);
  blocks.forward(/*with_graph=*/true);
  blocks.begin_backward(5);
  EXPECT_EQ(blocks.take(), "=5 +4");
  for (const int64_t index : {3, 4, 5}) blocks.run(index);
  EXPECT_EQ(blocks.take(), "+3 =3 -3 =4 =5");
  blocks.begin_backward(4);
  EXPECT_EQ(blocks.take(), "-5 =4 +3");
}

TEST(BlockPrefetcher, WithNoneAheadABlockComesWhenItBegins) {
  Written blocks(3, 0);
  EXPECT_EQ(blocks.forward(/*with_graph=*/true), "+0 =0 -0 +1 =1 -1 +2 =2");
  for (const int64_t index : {2, 1, 0}) blocks.begin_backward(index);
  EXPECT_EQ(blocks.take(), "=2 -2 +1 =1 -1 +0 =0");
  blocks.end_backward();
  EXPECT_EQ(blocks.take(), "-0");
}

TEST(BlockPrefetcher, WithNoneAheadAGroupThatIsComputedAgainLeavesNothingButWhatBackwardHolds) {
  Written blocks(6, 0);
  blocks.forward(/*with_graph=*/true);
  blocks.begin_backward(5);
  for (const int64_t index : {3, 4, 5}) blocks.run(index);
  EXPECT_EQ(blocks.take(), "=5 +3 =3 -3 +4 =4 -4 =5");
  blocks.begin_backward(4);
  EXPECT_EQ(blocks.take(), "-5 +4 =4");
}

TEST(BlockPrefetcher, WithTwoAheadTheNextTwoComeInTheOrderInWhichTheyAreWanted) {
  Written blocks(4, 2);
  EXPECT_EQ(blocks.forward(/*with_graph=*/true), "+0 =0 +1 +2 -0 =1 +3 -1 =2 -2 =3");
  for (const int64_t index : {3, 2, 1, 0}) blocks.begin_backward(index);
  EXPECT_EQ(blocks.take(), "=3 +2 +1 -3 =2 +0 -2 =1 -1 =0");
  blocks.end_backward();
  EXPECT_EQ(blocks.take(), "-0");
}

TEST(BlockPrefetcher, WithTwoAheadAGroupThatIsComputedAgainLeavesTheTwoThatBackwardGoesToNext) {
  Written blocks(6, 2);
  blocks.forward(/*with_graph=*/true);
  blocks.begin_backward(5);
  for (const int64_t index : {2, 3, 4, 5}) blocks.run(index);
  EXPECT_EQ(blocks.take(), "=5 +4 +3 +2 =2 -2 =3 =4 =5");
  blocks.begin_backward(4);
  EXPECT_EQ(blocks.take(), "-5 =4 +2");
}

TEST(BlockPrefetcher, OfPiecesEachIsARowOfItsOwn) {
  Written blocks(5, /*ahead=*/2);
  blocks.end_at({1, 4});
  for (const int64_t index : {0, 1, 2, 3, 4}) blocks.run(index);
  EXPECT_EQ(blocks.take(), "+0 =0 +1 -0 =1 +2 =2 +3 +4 -2 =3 -3 =4");
  for (const int64_t index : {4, 3, 2}) blocks.begin_backward(index);
  EXPECT_EQ(blocks.take(), "=4 +3 +2 -4 =3 -3 =2");
  EXPECT_TRUE(blocks.is_first(2));
  blocks.end_backward();
  for (const int64_t index : {1, 0}) blocks.begin_backward(index);
  blocks.end_backward();
  EXPECT_EQ(blocks.take(), "-2 =1 +0 -1 =0 -0");
}

TEST(BlockPrefetcher, AStepThatFailedLeavesNone) {
  Written blocks(3);
  blocks.forward(/*with_graph=*/true);
  blocks.begin_backward(2);
  blocks.take();
  blocks.begin_step();
  EXPECT_EQ(blocks.take(), "-1 -2");
  EXPECT_FALSE(blocks.in_backward());
  EXPECT_EQ(blocks.forward(/*with_graph=*/false), "+0 =0 +1 -0 =1 +2 -1 =2 -2");
}

}  // namespace
}  // namespace headroom
