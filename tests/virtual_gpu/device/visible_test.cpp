#include "virtual_gpu/device/visible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace virtual_gpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(VisibleCards, AllOfThemWhenNothingIsSaid) {
  EXPECT_THAT(visible_cards(nullptr, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(visible_cards("", 3), IsEmpty());
}

TEST(VisibleCards, OrdinalsInTheirOrderUpToTheFirstThatIsNone) {
  EXPECT_THAT(visible_cards("2,0", 3), ElementsAre(2, 0));
  EXPECT_THAT(visible_cards(" 1, 2gpu", 3), ElementsAre(1, 2));
  EXPECT_THAT(visible_cards("1,3,0", 3), ElementsAre(1));
  EXPECT_THAT(visible_cards("-1,0", 3), IsEmpty());
  EXPECT_THAT(visible_cards("0,1,0", 3), IsEmpty()) << "named twice";
}

TEST(VisibleCards, AUuidOrItsBeginningIfItIsOneCards) {
  EXPECT_THAT(visible_cards("GPU-76697274-7561-6c2d-3031-000000000000", 3), ElementsAre(1));
  EXPECT_THAT(visible_cards("GPU-76697274-7561-6c2d-3032,GPU-76697274-7561-6c2d-3030", 3),
              ElementsAre(2, 0));
  EXPECT_THAT(visible_cards("GPU-7669", 3), IsEmpty());
  EXPECT_THAT(visible_cards("GPU-7669", 1), ElementsAre(0));
  EXPECT_THAT(visible_cards("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 3), IsEmpty());
}

}  // namespace
}  // namespace virtual_gpu
