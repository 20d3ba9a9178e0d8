// Whole runs in this process, on the CPU: their bytes against theory's. No torch in this file: a
// Record holds everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/parameter_table.h"
#include "profiling/theory/rows.h"
#include "tests/bench/cell/run_ok.h"
#include "tests/support/at_night.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

int64_t sum_of(const Named<int64_t>& categories) {
  return std::accumulate(categories.begin(), categories.end(), int64_t{0},
                         [](int64_t total, const auto& item) { return total + item.second; });
}

struct Cell {
  Mode mode;
  Precision precision;
  Attention attention;
  int64_t kv_heads;
};

// Every combination on a tiny model whose vocabulary is large for its width, so that the peak of
// every mode but training is at the end of the model, where everything saved is alive.
class RunMatrix : public testing::TestWithParam<Cell> {
 protected:
  RunMatrix() {
    spec_.profile_type = GetParam().mode;
    spec_.precision = GetParam().precision;
    spec_.attention = GetParam().attention;
    spec_.kv_heads = GetParam().kv_heads;
    spec_.vocab_size = 2000;
    spec_.batch_size = 3;
  }
  int64_t parameters() const { return 4 * parameter_count(model_config(spec_)); }
  // The peak of each category equals theory's figure, to the byte.
  void expect_each_category_where_it_is_fullest(const Record& record) const {
    for (const char* category :
         {"parameters", "gradients", "activations", "optimizer_state", "cast_cache"}) {
      EXPECT_EQ(record.category_peaks.at(category), record.predicted.at(category)) << category;
    }
    EXPECT_EQ(record.predicted.at("gradients"),
              has_backward(spec_.profile_type) ? parameters() : 0);
    const int64_t next = 2 * 4 * spec_.vocab_size * spec_.d_model;  // of the largest tensor
    EXPECT_EQ(record.predicted.at("optimizer_state"),
              spec_.profile_type == Mode::kTraining ? 2 * parameters() + next : 0);
    EXPECT_EQ(record.category_peaks.at("workspaces"), 0) << "a CPU has none";
  }
  RunSpec spec_ = tiny_spec();
};

TEST_P(RunMatrix, IsAsTheoryPredictsAndCategoriesSumToThePeak) {
  const Record record = run_ok(spec_);
  ASSERT_TRUE(record.peak && record.recorded_peak);
  EXPECT_EQ(sum_of(record.categories_at_peak), record.recorded_peak->allocated);
  EXPECT_EQ(record.recorded_peak->allocated, record.peak->allocated);
  EXPECT_FALSE(record.categories_at_peak.contains("allocator_rounding"));
  EXPECT_EQ(record.categories_at_peak.at("parameters"), parameters());
  EXPECT_EQ(record.predicted.at("parameters"), parameters());
  EXPECT_EQ(record.phase_order, phases_of(spec_.profile_type));
  EXPECT_EQ(record.phases.at(record.peak_phase).allocated, record.peak->allocated);
  EXPECT_EQ(record.step_ms.size(), 2U);
  EXPECT_EQ(record.losses.size(), has_backward(spec_.profile_type) ? 2U : 0U);
  EXPECT_GT(record.trace_events, 0);
  EXPECT_FALSE(record.trace_truncated);

  expect_each_category_where_it_is_fullest(record);
  if (spec_.profile_type == Mode::kForward) {
    EXPECT_EQ(record.categories_at_peak.at("activations"), 0);
    EXPECT_FALSE(record.residual_bytes_per_block);
    return;
  }
  EXPECT_EQ(record.saved_bytes, record.predicted.at("activations"));
  EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"));
  EXPECT_EQ(record.residual_tensors_per_block, record.predicted.at("residual_tensors_per_block"));
}

// The vocabulary makes the reference optimizer's update of the output head the peak.
class TrainingPeak : public RunMatrix {};

TEST_P(TrainingPeak, HoldsTheStatesOfTheLargestTensorTwiceAndTheLogits) {
  const Record record = run_ok(spec_);
  const auto& at_peak = record.categories_at_peak;
  const int64_t largest = 4 * spec_.vocab_size * spec_.d_model;
  EXPECT_EQ(record.peak_phase, "optimizer");
  EXPECT_EQ(at_peak.at("gradients"), parameters());
  EXPECT_EQ(at_peak.at("optimizer_state"), 2 * parameters() + 2 * largest) << "old and new m, v";
  EXPECT_EQ(at_peak.at("cast_cache"), 0);
  // Local variables of the step hold the logits and the loss.
  const auto rows = theory_rows(spec_);
  const auto loss = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.group == kLoss && row.tensor.starts_with("loss");
  });
  ASSERT_NE(loss, rows.end());
  EXPECT_EQ(at_peak.at("activations"), total(rows, kHead) + loss->bytes);
}

std::vector<Cell> cells(const std::vector<Mode>& modes) {
  std::vector<Cell> all;
  for (const Mode mode : modes) {
    for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16,
                                      Precision::kFp16, Precision::kFp8}) {
      for (const Attention attention : {Attention::kEager, Attention::kSdpa, Attention::kMath}) {
        for (const int64_t kv_heads : {4, 2}) all.push_back({mode, precision, attention, kv_heads});
      }
    }
  }
  return all;
}

std::string name_of(const Cell& cell) {
  std::string name = to_string(cell.mode) + "_" + to_string(cell.precision) + "_" +
                     to_string(cell.attention) + (cell.kv_heads == 2 ? "_gqa" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Cells, RunMatrix,
    testing::ValuesIn(share_by_day(
        cells({Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward, Mode::kTraining}), 7)),
    [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Cells, TrainingPeak,
                         testing::ValuesIn(share_by_day(cells({Mode::kTraining}), 7)),
                         [](const auto& info) { return name_of(info.param); });

// Weights, gradients and activations in BF16, nothing cast.
struct Bf16Cell {
  Mode mode;
  Attention attention;
  int64_t kv_heads;
};

class Bf16Matrix : public testing::TestWithParam<Bf16Cell> {};

TEST_P(Bf16Matrix, EveryCategoryIsWhatTheoryPredicts) {
  RunSpec spec = tiny_spec();
  spec.profile_type = GetParam().mode;
  spec.attention = GetParam().attention;
  spec.kv_heads = GetParam().kv_heads;
  spec.vocab_size = 2000;
  spec.batch_size = 3;
  spec.weights = WeightType::kBf16;
  const Record record = run_ok(spec);
  EXPECT_EQ(sum_of(record.categories_at_peak), record.recorded_peak->allocated);
  EXPECT_EQ(record.recorded_peak->allocated, record.peak->allocated);
  EXPECT_EQ(record.category_peaks.at("parameters"), 2 * parameter_count(model_config(spec)));
  for (const char* category :
       {"parameters", "gradients", "activations", "optimizer_state", "cast_cache"}) {
    EXPECT_EQ(record.category_peaks.at(category), record.predicted.at(category)) << category;
  }
  if (spec.profile_type == Mode::kForward) return;
  EXPECT_EQ(record.saved_bytes, record.predicted.at("activations"));
  EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"));
  EXPECT_EQ(record.residual_tensors_per_block, record.predicted.at("residual_tensors_per_block"));
}

std::vector<Bf16Cell> bf16_cells() {
  std::vector<Bf16Cell> all;
  for (const Mode mode :
       {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward, Mode::kTraining}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      for (const int64_t kv_heads : {4, 2}) all.push_back({mode, attention, kv_heads});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cells, Bf16Matrix, testing::ValuesIn(share_by_day(bf16_cells(), 3)),
                         [](const auto& info) {
                           std::string name = to_string(info.param.mode) + "_" +
                                              to_string(info.param.attention) +
                                              (info.param.kv_heads == 2 ? "_gqa" : "");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Run, UpdatesOfBf16WeightsHoldTheStatesThatTheoryPredicts) {
  RunSpec spec = tiny_spec();
  spec.weights = WeightType::kBf16;
  const int64_t parameters = parameter_count(model_config(spec));
  const auto expect_equal = [&] {
    const Record record = run_ok(spec);
    for (const auto& [category, bytes] : record.predicted) {
      const std::string& name = category.text();
      if (!record.category_peaks.contains(name) || name == "activations") continue;
      EXPECT_EQ(record.category_peaks.at(name), bytes) << name;
    }
    return record;
  };
  for (const OptimizerImpl impl : info_of(spec.optimizer).implementations) {
    SCOPED_TRACE(to_string(impl));
    spec.optimizer_impl = impl;
    spec.master_weights = MasterCopy::kNone;
    spec.rounding = Rounding::kNearest;
    EXPECT_FALSE(expect_equal().category_peaks.contains("master_weights"));
    spec.rounding = Rounding::kStochastic;
    EXPECT_FALSE(expect_equal().category_peaks.contains("master_weights"));
    spec.rounding = Rounding::kNearest;
    spec.master_weights = MasterCopy::kFp32;
    EXPECT_EQ(expect_equal().category_peaks.at("master_weights"), 4 * parameters);
  }
}

// Precision, attention and heads determine the saved tensors; the form and its options their size.
TEST(Run, ActivationsIn8BitTakeTheBytesThatTheoryPredicts) {
  for (const Cell& cell : share_by_day(cells({Mode::kForwardGrad, Mode::kTraining}), 5)) {
    for (const char* form : {"int8:block=100,min=0", "fp8:min=3000"}) {
      RunSpec spec = tiny_spec();
      spec.profile_type = cell.mode;
      spec.precision = cell.precision;
      spec.attention = cell.attention;
      spec.kv_heads = cell.kv_heads;
      spec.activations = parse_activations(form);
      const Record record = run_ok(spec);
      const std::string what = name_of(cell) + " " + form;
      EXPECT_EQ(record.saved_bytes, record.predicted.at("activations")) << what;
      EXPECT_EQ(record.category_peaks.at("activations"), record.predicted.at("activations"))
          << what;
      EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"))
          << what;
      EXPECT_EQ(record.residual_tensors_per_block,
                record.predicted.at("residual_tensors_per_block"))
          << what;
      EXPECT_EQ(record.category_peaks.at("cast_cache"), record.predicted.at("cast_cache")) << what;
      spec.activations = {};
      EXPECT_LT(*record.saved_bytes, predicted(spec).at("activations")) << what;
    }
  }
}

// For CheckpointMatrix: every setting, with autocast, with fused attention, with grouped heads.
struct CheckpointCell {
  const char* checkpoint;
  Cell cell;
  WeightType weights = WeightType::kFp32;
};

class CheckpointMatrix : public testing::TestWithParam<CheckpointCell> {};

// Rows of kept tensors, recomputed tensors, and casts: to the byte.
TEST_P(CheckpointMatrix, KeepsAndComputesAgainWhatTheoryPredicts) {
  const auto& [checkpoint, cell, weights] = GetParam();
  RunSpec spec = tiny_spec();
  spec.layers = 5;
  spec.profile_type = cell.mode;
  spec.precision = cell.precision;
  spec.attention = cell.attention;
  spec.kv_heads = cell.kv_heads;
  spec.weights = weights;
  const Record plain = run(spec, {});
  find_field("checkpoint")->set(spec, checkpoint);
  const Record record = run(spec, {});
  ASSERT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.losses, plain.losses);
  EXPECT_EQ(record.saved_bytes, record.predicted.at("activations"));
  EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"));
  EXPECT_EQ(record.residual_tensors_per_block, record.predicted.at("residual_tensors_per_block"));
  for (const char* category : {"gradients", "activations", "optimizer_state", "cast_cache"}) {
    EXPECT_EQ(record.category_peaks.at(category), record.predicted.at(category)) << category;
  }
  const auto again = record.predicted.find("recomputed");
  EXPECT_EQ(record.recomputed_bytes,
            again == record.predicted.end() ? std::nullopt : std::optional(again->second));
  const bool less = record.saved_bytes < plain.saved_bytes;
  const bool keeps_all =
      std::string(checkpoint) == "blocks:0%" ||
      (std::string(checkpoint) == "selective" && cell.attention == Attention::kSdpa);
  EXPECT_EQ(less, !keeps_all);
  if (less) {
    EXPECT_LT(record.phases.at("forward").allocated, plain.phases.at("forward").allocated);
  }
}

std::vector<CheckpointCell> checkpoint_cells() {
  std::vector<CheckpointCell> all;
  for (const char* checkpoint :
       {"full", "every:2", "every:5", "blocks:0%", "blocks:40%", "blocks:50%", "selective"}) {
    for (const Cell& cell : {Cell{Mode::kTraining, Precision::kFp32, Attention::kEager, 4},
                             Cell{Mode::kTraining, Precision::kBf16, Attention::kEager, 4},
                             Cell{Mode::kTraining, Precision::kBf16, Attention::kEager, 2},
                             Cell{Mode::kForwardBackward, Precision::kFp16, Attention::kSdpa, 2},
                             Cell{Mode::kTraining, Precision::kFp8, Attention::kEager, 2},
                             Cell{Mode::kForwardBackward, Precision::kFp8, Attention::kSdpa, 4},
                             Cell{Mode::kForwardGrad, Precision::kBf16, Attention::kEager, 4}}) {
      all.push_back({checkpoint, cell});
    }
    all.push_back(
        {checkpoint, {Mode::kTraining, Precision::kFp32, Attention::kEager, 2}, WeightType::kBf16});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cells, CheckpointMatrix,
                         testing::ValuesIn(share_by_day(checkpoint_cells(), 5)),
                         [](const auto& info) {
                           std::string name = info.param.checkpoint;
                           for (char& c : name) {
                             if (isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           const bool bf16 = info.param.weights == WeightType::kBf16;
                           return name + "_" + name_of(info.param.cell) +
                                  (bf16 ? "_bf16_weights" : "");
                         });

// A wide model and little data: the optimizer's own memory is the peak.
TEST(Run, EveryOptimizerImplementationHoldsTheStateTheoryPredicts) {
  RunSpec spec = tiny_spec();
  spec.d_model = 64;
  spec.d_ff = 256;
  spec.context_length = 4;
  spec.batch_size = 1;
  const int64_t parameters = 4 * parameter_count(model_config(spec));
  for (const OptimizerImpl impl :
       {OptimizerImpl::kReference, OptimizerImpl::kForeach, OptimizerImpl::kFused}) {
    spec.optimizer_impl = impl;
    const Record record = run_ok(spec);
    const auto& at_peak = record.categories_at_peak;
    EXPECT_EQ(record.recorded_peak->allocated, record.peak->allocated) << to_string(impl);
    EXPECT_EQ(at_peak.at("parameters"), parameters);
    EXPECT_EQ(record.predicted.at("gradients"), parameters);
    const int64_t state = record.predicted.at("optimizer_state");
    const int64_t tensors = 3 + 9 * spec.layers;
    // While the reference updates a tensor, its old and its new state both live.
    const int64_t twice = impl == OptimizerImpl::kReference ? 2 * 4 * spec.d_model * spec.d_ff : 0;
    const int64_t steps = impl == OptimizerImpl::kFused ? 4 * tensors : 0;
    EXPECT_EQ(state, 2 * parameters + twice + steps);
    EXPECT_EQ(record.category_peaks.at("optimizer_state"), state) << to_string(impl);
    if (impl != OptimizerImpl::kFused) {
      EXPECT_EQ(record.peak_phase, "optimizer") << to_string(impl);
      EXPECT_EQ(at_peak.at("gradients"), parameters) << to_string(impl);
    }
  }
}

}  // namespace
}  // namespace headroom
