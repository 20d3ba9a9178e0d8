// A whole run in this process that must go well. No torch here: a Record says it all.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/cell/run.h"

namespace headroom {

inline Record run_ok(const RunSpec& spec) {
  Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.reason, "");
  // The default scale of FP16 is found by skipping steps.
  const char* expected = spec.precision == Precision::kFp16   ? "optimizer steps skipped"
                         : spec.precision == Precision::kTf32 ? "TF32 is arithmetic of NVIDIA cards"
                                                              : "no note at all";
  EXPECT_THAT(record.notes, testing::Each(testing::HasSubstr(expected)));
  return record;
}

inline std::vector<std::string> phases_of(Mode mode) {
  if (mode == Mode::kTraining) return {"forward", "loss", "backward", "optimizer"};
  if (mode == Mode::kForwardBackward) return {"forward", "loss", "backward"};
  return {"forward"};
}

}  // namespace headroom
