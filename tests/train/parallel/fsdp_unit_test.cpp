#include "train/parallel/data/fsdp_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/parallel/late_group.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<RankGroup> group(const char* name, UnderWay& under_way) {
  return std::make_shared<RankGroup>(
      c10::make_intrusive<LateGroup>(/*rank=*/0, /*size=*/2, name, under_way));
}

NamedTensors parameters_of_a_unit() {
  NamedTensors parameters;
  for (const char* name : {"a", "b"}) {
    parameters.insert(name, torch::ones({20, 30}).requires_grad_());
  }
  return parameters;
}

class ShardedUnits : public testing::TestWithParam<int64_t> {
 protected:
  FsdpUnit unit(int64_t zero, bool with_copies = true) {
    return {"unit", parameters_of_a_unit(), zero,
            SharingRanks{group("dp", under_way_),
                         with_copies ? group("dp copies", under_way_) : nullptr}};
  }
  static void backward(FsdpUnit& unit, bool last) {
    unit.begin_backward(last || GetParam() > 1, last);
    for (size_t i = 0; i < 2; ++i) {
      torch::Tensor parameter = unit.parameters()[i];
      torch::Tensor& gradient = parameter.mutable_grad();
      gradient = gradient.defined() ? gradient.add_(1) : torch::ones({20, 30});
      if (unit.take(i)) FsdpUnit::begin_sums({&unit});
    }
  }

  UnderWay under_way_;
  ToldAllocator told_{under_way_};
};

// Note [Memory that a collective uses]
TEST_P(ShardedUnits, NoMemoryIsLetGoWhileACollectiveUsesIt) {
  {
    FsdpUnit shared = unit(GetParam());
    for (int step = 0; step < 2; ++step) {
      shared.free_gradients();
      shared.fetch();
      shared.drop();  // before a wait: a failed step
      shared.fetch();
      shared.wait();
      backward(shared, /*last=*/false);
      shared.settle();
      backward(shared, /*last=*/true);
      shared.drop();
      shared.settle();
      if (step == 0) continue;  // in the middle: the next one starts over
      shared.give_gradients();
      shared.gather_updates();
      shared.wait();
    }
  }
  EXPECT_THAT(under_way_.let_go_early, IsEmpty());
  EXPECT_EQ(under_way_.count(), 0U);
}

TEST_P(ShardedUnits, CopiesAreAskedOnceAStepAfterTheLastSumOfTheGroup) {
  FsdpUnit shared = unit(GetParam());
  under_way_.take();
  backward(shared, /*last=*/false);
  backward(shared, /*last=*/true);
  if (GetParam() == 1) {
    EXPECT_THAT(under_way_.take(), ElementsAre("dp scatter"));
  } else {
    // With one gradient at a time, the unit's own sum ends before the next one begins.
    EXPECT_THAT(under_way_.take(), ElementsAre("dp scatter", "dp scatter is there", "dp scatter"));
  }
  shared.settle();
  EXPECT_THAT(under_way_.take(), ElementsAre("dp scatter is there", "dp copies sum"));
  shared.give_gradients();
  EXPECT_THAT(under_way_.take(), ElementsAre("dp copies sum is there"));
}

// The previous micro-batch's sum is settled after the last one's backward has begun.
TEST_P(ShardedUnits, ASumThatIsSettledInTheLastBackwardIsNotTheLastOne) {
  if (GetParam() == 1) GTEST_SKIP() << "which adds up one sum a step";
  FsdpUnit shared = unit(GetParam());
  backward(shared, /*last=*/false);
  shared.begin_backward(/*sends=*/true, /*last=*/true);
  under_way_.take();
  shared.settle();
  EXPECT_THAT(under_way_.take(), ElementsAre("dp scatter is there"));
}

TEST_P(ShardedUnits, WithoutCopiesNothingIsAddedUpBetweenGroups) {
  FsdpUnit shared = unit(GetParam(), /*with_copies=*/false);
  backward(shared, /*last=*/true);
  shared.give_gradients();
  EXPECT_EQ(under_way_.take().back(), "dp scatter is there");
}

INSTANTIATE_TEST_SUITE_P(Zero, ShardedUnits, testing::Values(1, 2, 3));

}  // namespace
}  // namespace headroom
