#include "bench/dryrun/breakdown/context.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(Context, AModuleThatIsLeftTakesThoseInsideItAlong) {
  const uint32_t outer = number_of("outer");
  const uint32_t inner = number_of("inner");
  enter_module(outer);
  enter_module(inner);
  const Origin inside = origin();
  EXPECT_EQ(text_of(inside.module), "inner");
  EXPECT_EQ(inside.phase, Phase::kForward);
  EXPECT_FALSE(is_call_over(inside.call));
  leave_module(outer);  // an error has ended the inner one
  EXPECT_TRUE(is_call_over(inside.call));
  leave_module(inner);
  EXPECT_EQ(origin().module, 0U);
}

TEST(Context, AForwardInBackwardIsARecomputation) {
  begin_backward(0);
  EXPECT_EQ(origin().phase, Phase::kBackward);
  enter_module(number_of("inner"));
  EXPECT_EQ(origin().phase, Phase::kRecomputation);
  leave_module(number_of("inner"));
  end_backward();
  EXPECT_EQ(origin().phase, Phase::kOutside);
}

TEST(Context, AnOptimizerMayCallAnother) {
  begin_optimizer();
  begin_optimizer();
  EXPECT_FALSE(end_optimizer());
  EXPECT_EQ(origin().phase, Phase::kOptimizer);
  EXPECT_TRUE(end_optimizer());
  EXPECT_EQ(origin().phase, Phase::kOutside);
}

TEST(Context, AStepThatAnErrorEndedIsOverWhenBackwardBegins) {
  begin_optimizer();
  begin_backward(0);
  EXPECT_FALSE(moment().in_optimizer);
  end_backward();
  EXPECT_EQ(origin().phase, Phase::kOutside);
}

TEST(Context, AnOperationIsTheOutermostAndInBackwardTheNode) {
  push_operation("aten::linear", false);
  push_operation("aten::addmm", false);
  EXPECT_EQ(text_of(origin().operation), "aten::linear");
  pop_operation();
  pop_operation();
  begin_backward(number_of("train.py\n3\nstep"));
  push_operation("autograd::engine::evaluate_function: AddmmBackward0", true);
  push_operation("aten::mm", false);
  const Origin known = origin();
  EXPECT_EQ(text_of(known.operation), "AddmmBackward0");
  EXPECT_EQ(text_of(known.place), "train.py\n3\nstep");
  pop_operation();
  pop_operation();
  end_backward();
}

TEST(Context, APlaceIsOfOneAllocation) {
  set_place(5, Hint::kCache);
  EXPECT_EQ(origin().place, 5U);
  EXPECT_EQ(origin().place, 0U);
}

}  // namespace
}  // namespace headroom
