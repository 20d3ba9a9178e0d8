#include "bench/sweep/forecast.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(Forecast, OneCellThatLoadedLibtorchForecastsNothing) {
  Forecast forecast(1);
  EXPECT_FALSE(forecast.left(60));
  forecast.add(6);
  EXPECT_FALSE(forecast.left(60));
  forecast.add(0.2);
  EXPECT_FALSE(forecast.left(59));
}

TEST(Forecast, TheMedianOfTheCellsCounts) {
  Forecast forecast(1);
  for (const double seconds : {6.0, 0.2, 0.3}) forecast.add(seconds);
  EXPECT_DOUBLE_EQ(*forecast.left(10), 3);
  EXPECT_FALSE(forecast.left(0));
}

TEST(Forecast, ALongCellIsForecastAtOnce) {
  Forecast forecast(1);
  forecast.add(120);
  EXPECT_DOUBLE_EQ(*forecast.left(2), 240);
}

TEST(Forecast, CellsBesideEachOtherTakeTheirShare) {
  Forecast forecast(2);
  for (int i = 0; i < 3; ++i) forecast.add(1);
  EXPECT_DOUBLE_EQ(*forecast.left(8), 4);
}

}  // namespace
}  // namespace headroom
