// Whole runs in this process, on the CPU: bytes against theory and against each other. No torch in
// this file: a Record says it all.
#include "bench/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "bench/child_process.h"
#include "profiling/snapshot_read.h"
#include "profiling/snapshot_validate.h"
#include "profiling/theory/rows.h"
#include "tests/train/scratch_directory.h"
#include "tests/train/tiny_spec.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

int64_t sum_of(const std::map<std::string, int64_t>& categories) {
  return std::accumulate(categories.begin(), categories.end(), int64_t{0},
                         [](int64_t total, const auto& item) { return total + item.second; });
}

Record run_ok(const RunSpec& spec) {
  Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.reason, "");
  // The default scale of FP16 is found by skipping steps.
  const char* expected =
      spec.precision == Precision::kFp16 ? "optimizer steps skipped" : "no note at all";
  EXPECT_THAT(record.notes, testing::Each(HasSubstr(expected)));
  return record;
}

struct Cell {
  Mode mode;
  Precision precision;
  Attention attention;
  int64_t kv_heads;
};

// Every combination on a tiny model whose vocabulary is large for its width, so that the peak of
// every mode but training stands at the end of the model, where everything saved is alive.
class RunMatrix : public testing::TestWithParam<Cell> {
 protected:
  RunMatrix() {
    spec_.mode = GetParam().mode;
    spec_.precision = GetParam().precision;
    spec_.attention = GetParam().attention;
    spec_.kv_heads = GetParam().kv_heads;
    spec_.vocab_size = 2000;
    spec_.batch_size = 3;
  }
  int64_t parameters() const { return 4 * parameter_count(model_config(spec_)); }
  RunSpec spec_ = tiny_spec();
};

std::vector<std::string> phases_of(Mode mode) {
  if (mode == Mode::kTraining) return {"forward", "loss", "backward", "optimizer"};
  if (mode == Mode::kForwardBackward) return {"forward", "loss", "backward"};
  return {"forward"};
}

TEST_P(RunMatrix, CategoriesSumToThePeakAndSavedBytesAreThoseOfTheory) {
  const Record record = run_ok(spec_);
  ASSERT_TRUE(record.peak && record.recorded_peak);
  EXPECT_EQ(sum_of(record.categories_at_peak), record.recorded_peak->allocated);
  EXPECT_EQ(record.recorded_peak->allocated, record.peak->allocated);
  EXPECT_FALSE(record.categories_at_peak.contains("allocator_rounding"));
  EXPECT_EQ(record.categories_at_peak.at("parameters"), parameters());
  EXPECT_EQ(record.predicted.at("parameters"), parameters());
  EXPECT_EQ(record.phase_order, phases_of(spec_.mode));
  EXPECT_EQ(record.phases.at(record.peak_phase).allocated, record.peak->allocated);
  EXPECT_EQ(record.step_ms.size(), 2U);
  EXPECT_EQ(record.losses.size(), has_backward(spec_.mode) ? 2U : 0U);
  EXPECT_GT(record.trace_events, 0);
  EXPECT_FALSE(record.trace_truncated);

  if (spec_.mode == Mode::kForward) {
    EXPECT_EQ(record.categories_at_peak.at("activations"), 0);
    EXPECT_FALSE(record.residual_bytes_per_block);
    return;
  }
  EXPECT_EQ(record.saved_bytes, record.predicted.at("activations"));
  EXPECT_EQ(record.residual_bytes_per_block, record.predicted.at("residual_bytes_per_block"));
  EXPECT_EQ(record.residual_tensors_per_block, record.predicted.at("residual_tensors_per_block"));
}

// At its own fullest moment each category is what theory says, to the byte.
TEST_P(RunMatrix, EveryCategoryReachesWhatTheoryPredicts) {
  const Record record = run_ok(spec_);
  for (const char* category : {"parameters", "gradients", "activations", "cast_cache"}) {
    EXPECT_EQ(record.category_peaks.at(category), record.predicted.at(category)) << category;
  }
  EXPECT_EQ(record.predicted.at("gradients"), has_backward(spec_.mode) ? parameters() : 0);
  EXPECT_EQ(record.predicted.at("optimizer_state"),
            spec_.mode == Mode::kTraining ? 2 * parameters() : 0);
  EXPECT_EQ(record.category_peaks.at("workspaces"), 0) << "a CPU has none";
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
  // A local variable of the step holds the logits, another the loss.
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
    for (const Precision precision :
         {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
      for (const Attention attention : {Attention::kEager, Attention::kFlash}) {
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

INSTANTIATE_TEST_SUITE_P(Cells, RunMatrix,
                         testing::ValuesIn(cells({Mode::kForward, Mode::kForwardGrad,
                                                  Mode::kForwardBackward, Mode::kTraining})),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Cells, TrainingPeak, testing::ValuesIn(cells({Mode::kTraining})),
                         [](const auto& info) { return name_of(info.param); });

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
    EXPECT_EQ(state, 2 * parameters + (impl == OptimizerImpl::kFused ? 4 * tensors : 0));
    // While the reference updates a tensor, its old and its new state both live.
    const int64_t twice = impl == OptimizerImpl::kReference ? 2 * 4 * spec.d_model * spec.d_ff : 0;
    EXPECT_EQ(record.category_peaks.at("optimizer_state"), state + twice) << to_string(impl);
    if (impl != OptimizerImpl::kFused) {
      EXPECT_EQ(record.peak_phase, "optimizer") << to_string(impl);
      EXPECT_EQ(at_peak.at("gradients"), parameters) << to_string(impl);
    }
  }
}

TEST(Run, OfMoreEventsThanAllowedTheSnapshotKeepsTheNewestAndTheRecordSaysSo) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.snapshot = scratch.file("whole.pickle");
  const Record whole = run_ok(spec);
  EXPECT_FALSE(whole.trace_truncated);
  const Snapshot all = read_snapshot(spec.snapshot);
  EXPECT_EQ(static_cast<int64_t>(all.device_traces.at(0).size()), whole.trace_events);

  spec.max_entries = 10;
  spec.snapshot = scratch.file("short.pickle");
  const Record record = run_ok(spec);
  EXPECT_TRUE(record.trace_truncated);
  EXPECT_EQ(record.trace_events, whole.trace_events) << "it counts what happened";
  EXPECT_EQ(record.categories_at_peak, whole.categories_at_peak) << "numbers need no snapshot";
  EXPECT_EQ(read_snapshot(spec.snapshot).device_traces.at(0).size(), 10U);
}

TEST(Run, ItsSnapshotIsOneTheViewerOpens) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.snapshot = scratch.file("run.pickle");
  run_ok(spec);
  for (const SnapshotProblem& problem : validate_snapshot_file(spec.snapshot)) {
    EXPECT_FALSE(problem.is_error) << problem.text;
  }
  std::vector<std::string> starts;
  for (const Annotation& annotation : read_snapshot(spec.snapshot).annotations) {
    if (annotation.is_start && annotation.name != "block") starts.push_back(annotation.name);
  }
  EXPECT_EQ(starts, phases_of(Mode::kTraining));
}

TEST(Run, OutOfHostMemoryIsARecordWithTheSizes) {
  RunSpec spec = tiny_spec();
  const int64_t parameters = 4 * parameter_count(model_config(spec));
  const Record record = run(spec, {.host_memory_bytes = parameters + 100'000});
  EXPECT_EQ(record.status, Status::kOom);
  EXPECT_THAT(record.reason, HasSubstr("host memory: tried to allocate"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));
  EXPECT_THAT(record.notes, testing::Contains(HasSubstr("live when memory ran out")));
  run_ok(spec);  // the limit is the run's, not the process's
}

// What a link points to is replaced, not the link: with libtorch's own copy of std::filesystem in
// the program too.
// (The first run creates the file behind the link.)
TEST(Run, AnOutputThatIsALinkStaysOne) {
  const ScratchDirectory scratch;
  ASSERT_EQ(symlink("weights.safetensors", scratch.file("link").c_str()), 0);
  for (const char* earlier : {"", "earlier contents"}) {
    if (*earlier != 0) scratch.write("weights.safetensors", earlier);
    RunSpec spec = tiny_spec();
    spec.save_weights = scratch.file("link");
    run_ok(spec);
    spec.load_weights = scratch.file("weights.safetensors");
    spec.save_weights = "";
    run_ok(spec);
  }
  struct stat status {};
  ASSERT_EQ(lstat(scratch.file("link").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
}

TEST(Run, ADeviceThatIsNotHereIsUnsupported) {
  RunSpec spec = tiny_spec();
  spec.device = "cuda:99";
  const Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUnsupported);
  EXPECT_THAT(record.reason, HasSubstr("--device: 'cuda:99'"));
  EXPECT_THAT(record.reason, HasSubstr("cpu"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));
}

TEST(Run, FilesThatCannotBeWrittenOrReadAreOneLine) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.snapshot = scratch.file("no/such/folder/x.pickle");
  Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUnwritable);
  EXPECT_TRUE(record.peak.has_value()) << "what was measured is not lost with the file";
  EXPECT_THAT(record.reason, HasSubstr("no/such/folder"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));

  spec = tiny_spec();
  spec.load_weights = scratch.file("missing.safetensors");
  record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUsage);
  EXPECT_THAT(record.reason, HasSubstr("--load-weights"));

  spec = tiny_spec();
  spec.tokens = scratch.write("ids", std::string({1, 0, 60, 0, 2, 0}));
  record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUsage);
  EXPECT_THAT(record.reason, HasSubstr("id 60 at position 1"));
  EXPECT_TRUE(record.step_ms.empty()) << "refused before a step ran";
}

TEST(Run, WeightsSavedByOneRunGoOnInTheNext) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.mode = Mode::kForwardBackward;  // the weights do not change
  spec.save_weights = scratch.file("weights.safetensors");
  const Record first = run_ok(spec);
  spec.load_weights = spec.save_weights;
  spec.save_weights = "";
  EXPECT_EQ(run_ok(spec).losses, first.losses);
}

// Nothing of one run reaches the next, and two processes count the same.
TEST(Run, TwoProcessesCountTheSameBytes) {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kBf16;
  const auto facts_of = [](nlohmann::json record) {
    for (const char* key : {"environment", "step_ms"}) record.erase(key);
    return record;
  };
  const auto facts = [&] {
    const nlohmann::json request = {{"spec", to_json(spec)}};
    const Outcome outcome = run_command({.program = HEADROOM_CELL_PROGRAM,
                                         .arguments = {},
                                         .environment = changed_environment({}, {}),
                                         .input = request.dump()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.spawn_error << outcome.last_error_line;
    return facts_of(nlohmann::json::parse(outcome.output));
  };
  const auto first = facts();
  EXPECT_EQ(facts(), first);
  EXPECT_EQ(first.at("status"), "ok");
  EXPECT_EQ(facts_of(to_json(run_ok(spec))), first) << "whatever ran in this process before";
}

// Bytes of real text as ids.
TEST(Run, OnRealTextTheLossFalls) {
  const ScratchDirectory scratch;
  std::string ids;
  std::ifstream file(std::string(HEADROOM_SOURCES) + "/CONTRIBUTING.md", std::ios::binary);
  for (char byte = 0; file.get(byte);) ids += {byte, 0};
  ASSERT_GT(ids.size(), 2000U);
  RunSpec spec = tiny_spec();
  spec.vocab_size = 256;
  spec.context_length = 32;
  spec.batch_size = 8;
  spec.learning_rate = 1e-2;
  spec.tokens = scratch.write("text.bin", ids);
  spec.warmup_steps = 0;
  spec.measure_steps = 80;  // several times through the text, so that its wording does not matter
  spec.record_steps = 0;
  const Record record = run_ok(spec);
  ASSERT_EQ(record.losses.size(), 80U);
  EXPECT_GT(record.losses.front(), 5);
  const double last_ten = std::accumulate(record.losses.end() - 10, record.losses.end(), 0.0) / 10;
  EXPECT_LT(last_ten, 0.7 * record.losses.front());
}

}  // namespace
}  // namespace headroom
