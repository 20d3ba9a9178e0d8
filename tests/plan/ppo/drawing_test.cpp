#include "plan/ppo/drawing.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// The limit drawn for an iteration with `bytes` of weights on `device`.
int64_t limit_on(const char* device, int64_t bytes) {
  Record record;
  record.spec.device = parse_device(device);
  record.ppo.emplace().phases = {{.phase = "training",
                                  .requested = bytes,
                                  .components = {{"actor parameters", bytes}},
                                  .instants = {{"actor parameters", {bytes, bytes}}}}};
  const std::optional<Timeline> drawn = ppo_timeline(record, std::nullopt);
  return drawn ? drawn->available : -1;
}

TEST(PpoTimeline, EndsAtTheMemoryThatTheCardWasGiven) {
  constexpr int64_t kGib = int64_t{1} << 30;
  EXPECT_EQ(limit_on("virtual:h200,bytes=20GiB", 10 * kGib), 20 * kGib);
  EXPECT_EQ(limit_on("virtual:h200,bytes=2TiB", 10 * kGib), 0) << "all but empty";
  EXPECT_EQ(limit_on("virtual:h200,bytes=unlimited", 100 * kGib), 0);
  EXPECT_GT(limit_on("virtual:h200", 100 * kGib), 100 * kGib);
  EXPECT_EQ(limit_on("cpu", 10 * kGib), 0);
}

}  // namespace
}  // namespace headroom
