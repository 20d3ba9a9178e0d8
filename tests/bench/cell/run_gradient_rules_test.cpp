// Whole runs on the CPU whose gradients are added up over micro-batches, clipped or released as
// they come: their bytes against theory's. No torch in this file.
#include <gtest/gtest.h>

#include "tests/bench/cell/run_ok.h"
#include "tests/train/tiny_spec.h"
#include "train/gradient_rules.h"

namespace headroom {
namespace {

void expect_theorys_bytes(const Record& record) {
  const std::string name = row_name(record.spec);
  EXPECT_EQ(record.saved_bytes, record.predicted.at("activations")) << name;
  EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"))
      << name;
  for (const char* category : {"parameters", "gradients", "optimizer_state", "cast_cache"}) {
    EXPECT_EQ(record.category_peaks.at(category), record.predicted.at(category))
        << name << ' ' << category;
  }
}

// What a step leaves is what the step before it left.
void expect_no_growth(RunSpec spec) {
  const Record early = run_ok(spec);
  spec.warmup_steps = 50;
  const Record late = run_ok(spec);
  EXPECT_EQ(late.recorded_peak->allocated, early.recorded_peak->allocated) << row_name(spec);
  EXPECT_EQ(late.categories_at_peak, early.categories_at_peak) << row_name(spec);
}

RunSpec in_parts(Mode mode, Precision precision) {
  RunSpec spec = tiny_spec();
  spec.batch_size = 6;
  spec.micro_batches = 3;
  spec.profile_type = mode;
  spec.precision = precision;
  return spec;
}

TEST(RunMicroBatches, KeepTheActivationsOfOneAtATime) {
  for (const Mode mode : {Mode::kForwardBackward, Mode::kTraining}) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
      const RunSpec spec = in_parts(mode, precision);
      const Record record = run_ok(spec);
      expect_theorys_bytes(record);
      RunSpec part = spec;
      part.batch_size = 2;
      part.micro_batches = 1;
      EXPECT_EQ(record.saved_bytes, run_ok(part).saved_bytes) << row_name(spec);
      EXPECT_EQ(record.phase_runs.at("backward"), 3 * spec.measure_steps);
      EXPECT_EQ(record.phase_runs.count("optimizer"), mode == Mode::kTraining ? 1 : 0);
    }
  }
}

TEST(RunMicroBatches, LeaveNothingBehind) {
  expect_no_growth(in_parts(Mode::kTraining, Precision::kFp32));
  expect_no_growth(in_parts(Mode::kTraining, Precision::kBf16));
}

}  // namespace
}  // namespace headroom
