// Whole runs on the CPU whose gradients are accumulated over micro-batches, clipped, or released
// immediately: their bytes against theory's. No torch in this file.
#include <gtest/gtest.h>

#include <algorithm>

#include "profiling/theory/rows.h"
#include "tests/bench/cell/run_ok.h"
#include "tests/train/support/tiny_spec.h"

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
      EXPECT_EQ(record.phase_runs.contains("optimizer"), mode == Mode::kTraining);
    }
  }
}

int64_t sum_of(const std::vector<Row>& rows, std::vector<const char*> groups) {
  int64_t bytes = 0;
  for (const char* group : groups) bytes += total(rows, group);
  return bytes;
}

TEST(RunClipping, TakesItsTemporariesBesideEveryGradient) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    RunSpec spec = tiny_spec();
    spec.precision = precision;
    spec.max_grad_norm = 1;
    const Record record = run_ok(spec);
    expect_theorys_bytes(record);
    EXPECT_EQ(record.phase_order.back(), "clipping");
    const std::vector<Row> rows = theory_rows(spec);
    const auto loss = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
      return row.group == kLoss && row.tensor == "loss";
    });
    ASSERT_NE(loss, rows.end());
    EXPECT_EQ(record.phases.at("clipping").requested,
              loss->bytes + sum_of(rows, {kParameters, kGradients, kClipping, kOptimizerState,
                                          kHead, kLossScaler, kTables, kInputs}))
        << to_string(precision);
  }
}

RunSpec releasing() {
  RunSpec spec = tiny_spec();
  spec.release_gradients = true;
  return spec;
}

TEST(RunRelease, HoldsTheLargestGradientAlone) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const OptimizerImpl impl :
         {OptimizerImpl::kReference, OptimizerImpl::kForeach, OptimizerImpl::kFused}) {
      RunSpec spec = releasing();
      spec.precision = precision;
      spec.optimizer_impl = impl;
      spec.vocab_size = 2000;
      const Record record = run_ok(spec);
      expect_theorys_bytes(record);
      EXPECT_EQ(record.predicted.at("gradients"), 4 * spec.vocab_size * spec.d_model);
      spec.release_gradients = false;
      // Equal if the logits are the peak.
      EXPECT_LE(record.peak->allocated, run_ok(spec).peak->allocated) << row_name(spec);
      const auto tensors = static_cast<int64_t>(3 + 9 * spec.layers);
      EXPECT_EQ(record.phase_runs.at("optimizer"), tensors * spec.measure_steps);
    }
  }
}

}  // namespace
}  // namespace headroom
