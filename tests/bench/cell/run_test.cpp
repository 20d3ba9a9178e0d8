// Whole runs in this process, on the CPU: files, refusals, limits, and comparisons of runs. No
// torch in this file: a Record holds everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "bench/launch/cell.h"
#include "bench/process/child_process.h"
#include "model/parameter_table.h"
#include "profiling/snapshot/read.h"
#include "profiling/snapshot/validate.h"
#include "tests/bench/cell/run_ok.h"
#include "tests/files/scratch_directory.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

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
    if (annotation.is_start) starts.push_back(annotation.name);
  }
  std::vector<std::string> expected = phases_of(Mode::kTraining);
  expected.insert(expected.begin() + 1, {"block 0", "block 1", "block 2"});
  EXPECT_EQ(starts, expected);
}

TEST(Run, OutOfHostMemoryIsARecordWithTheSizes) {
  RunSpec spec = tiny_spec();
  const int64_t parameters = 4 * parameter_count(model_config(spec));
  const Record record = run(spec, {.host_memory_bytes = parameters + 100'000});
  EXPECT_EQ(record.status, Status::kOom);
  EXPECT_THAT(record.reason, HasSubstr("host memory: tried to allocate"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));
  EXPECT_THAT(record.reason, HasSubstr("forward: host memory"));
  ASSERT_TRUE(record.out_of_memory && record.out_of_memory->refusal);
  EXPECT_EQ(record.out_of_memory->during, "warm-up step 1");
  EXPECT_EQ(record.out_of_memory->phase, "forward");
  EXPECT_EQ(record.out_of_memory->memory, "host");
  const Refusal& refusal = *record.out_of_memory->refusal;
  EXPECT_EQ(refusal.total, parameters + 100'000);
  EXPECT_GT(refusal.live.allocated, parameters) << "as it was, not what unwinding left";
  EXPECT_EQ(refusal.free, refusal.total - refusal.live.allocated);
  EXPECT_GT(refusal.tried, refusal.free);
  run_ok(spec);  // the limit applies to a run, not to the process
}

TEST(Run, TheSnapshotOfAnOutOfMemoryIsOfTheMomentItHappened) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.snapshot = scratch.file("oom.pickle");
  spec.stacks = Stacks::kCpp;
  const int64_t parameters = 4 * parameter_count(model_config(spec));
  const Record record = run(spec, {.host_memory_bytes = parameters + 100'000});
  ASSERT_EQ(record.status, Status::kOom) << record.reason;
  const Snapshot snapshot = read_snapshot(spec.snapshot);
  int64_t live = 0;
  for (const Segment& segment : snapshot.segments) live += segment.allocated_size;
  EXPECT_EQ(live, record.out_of_memory->refusal->live.allocated);
  ASSERT_FALSE(snapshot.device_traces.at(0).empty());
  EXPECT_EQ(snapshot.device_traces.at(0).back().action, TraceAction::kOom);
  EXPECT_FALSE(snapshot.stacks.empty());
  for (const SnapshotProblem& problem : validate_snapshot_file(spec.snapshot)) {
    EXPECT_FALSE(problem.is_error) << problem.text;
  }
}

TEST(Run, ALossThatIsNoNumberIsSaid) {
  RunSpec spec = tiny_spec();
  spec.learning_rate = 10;
  spec.weight_decay = 10;  // the weights grow a hundredfold each step
  spec.measure_steps = 40;
  testing::internal::CaptureStderr();
  const Record record = run(spec, {});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_THAT(record.notes, testing::Contains(HasSubstr("of 40 measured steps")));
  EXPECT_THAT(said, HasSubstr("warning: custom_ctx16_training_fp32"));
}

// A run's leftovers are not part of the next one's figures.
TEST(Run, AfterAnOutOfMemoryTheNextRunIsAsTheFirst) {
  RunSpec spec = tiny_spec();
  spec.threads = 0;
  const Record first = run_ok(spec);
  RunSpec threads = spec;
  threads.threads = 1;
  run_ok(threads);
  EXPECT_EQ(run(spec, {.host_memory_bytes = 100'000}).status, Status::kOom);
  const Record after = run_ok(spec);
  EXPECT_EQ(after.peak->allocated, first.peak->allocated);
  EXPECT_EQ(after.environment["threads"], first.environment["threads"]);
}

// The target of a link is replaced, not the link. The first run creates the target.
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

TEST(Run, TheProgramSaysWhatItIsAndWhereItRuns) {
  const nlohmann::json identity = cell_identity({.program = HEADROOM_CELL_PROGRAM});
  for (const char* key : {"build", "build_settings", "libtorch", "cpu"}) {
    ASSERT_TRUE(identity.contains(key)) << identity;
    EXPECT_NE(identity[key], "") << key;
  }
  EXPECT_THAT(identity["cpu"].get<std::string>(), testing::MatchesRegex(".+, .+, [0-9]+ CPUs"));
}

TEST(Run, ADeviceThatIsNotHereIsUnsupported) {
  RunSpec spec = tiny_spec();
  spec.device = parse_device("cuda:99");
  const Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUnsupported);
  EXPECT_THAT(record.reason, HasSubstr("--device: 'cuda:99'"));
  EXPECT_THAT(record.reason, HasSubstr("cpu"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));
}

// Not a failure: the process continues.
TEST(Run, AKernelThatDoesNotRunHereIsUnsupportedInOurWords) {
  RunSpec spec = tiny_spec();
  spec.attention = Attention::kEfficient;
  const Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUnsupported);
  EXPECT_THAT(record.reason, HasSubstr("--attention: 'efficient' runs on cards only; allowed on "
                                       "the CPU: eager, sdpa, math, flash"));
  EXPECT_THAT(record.reason, Not(HasSubstr("\n")));
  EXPECT_TRUE(record.predicted.empty());
  spec.attention = Attention::kMath;
  EXPECT_EQ(run(spec, {}).status, Status::kOk);
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

// Peaks, phases and notes are known before a file is written, so a failed file loses none of them.
TEST(Run, ASnapshotThatCannotBeWrittenCostsTheSnapshotAlone) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kFp16;  // its first steps are skipped, which is a note
  const Record whole = run_ok(spec);
  ASSERT_FALSE(whole.notes.empty());
  spec.snapshot = scratch.file("no/such/folder/x.pickle");
  spec.save_weights = scratch.file("weights.safetensors");
  const Record record = run(spec, {});
  EXPECT_EQ(record.status, Status::kUnwritable);
  EXPECT_EQ(record.peak_phase, whole.peak_phase);
  EXPECT_EQ(record.notes, whole.notes);
  EXPECT_EQ(record.categories_at_peak, whole.categories_at_peak);
  EXPECT_TRUE(std::ifstream(spec.save_weights).good()) << "the other file is written all the same";
}

TEST(Run, OfStepsThatWereAllSkippedNoOptimizerStateIsPredicted) {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kTraining;
  spec.warmup_steps = spec.measure_steps = 0;
  spec.record_steps = 1;
  EXPECT_GT(run_ok(spec).predicted.at("optimizer_state"), 0);
  spec.precision = Precision::kFp16;  // the first scale of the loss is too large
  const Record record = run(spec, {});
  ASSERT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.predicted.at("optimizer_state"), 0);
  EXPECT_THAT(record.notes, testing::Contains(HasSubstr("every step was skipped")));
  const auto measured = record.categories_at_peak.find("optimizer_state");
  EXPECT_TRUE(measured == record.categories_at_peak.end() || measured->second == 0);
}

// Without measured steps, the recorded ones give everything except times.
TEST(Run, WithoutMeasuredStepsTheRecordedStepsGiveThePhases) {
  RunSpec spec = tiny_spec();
  const Record measured = run_ok(spec);
  spec.measure_steps = 0;
  const Record record = run_ok(spec);
  EXPECT_TRUE(record.step_ms.empty());
  EXPECT_EQ(record.phase_order, phases_of(Mode::kTraining));
  EXPECT_EQ(record.peak_phase, measured.peak_phase);
  ASSERT_TRUE(record.peak.has_value());
  EXPECT_EQ(record.peak->allocated, measured.peak->allocated);
  for (const auto& [name, bytes] : measured.phases) {
    EXPECT_EQ(record.phases.at(name.text()).allocated, bytes.allocated) << name.text();
  }
}

// The previous step's gradients live until a recorded step begins, and count as gradients there.
TEST(Run, WhatTheStepBeforeLeftIsNotOther) {
  const Record record = run_ok(tiny_spec());
  const int64_t gradients = 4 * parameter_count(model_config(tiny_spec()));
  EXPECT_EQ(record.category_peaks.at("gradients"), gradients);
  EXPECT_LT(record.category_peaks.at("other"), gradients) << "inputs and tables";
}

TEST(Run, OnTheCpuTheFiguresAreTheHostsAndThereIsNoOtherSpace) {
  const Record record = run_ok(tiny_spec());
  EXPECT_EQ(record.space, MemorySpace::kHost);
  EXPECT_TRUE(record.spaces.empty());
  for (const std::string& phase : phases_of(Mode::kTraining)) {
    EXPECT_EQ(record.phase_runs.at(phase), tiny_spec().measure_steps) << phase;
  }
}

TEST(Run, WeightsSavedByOneRunGoOnInTheNext) {
  const ScratchDirectory scratch;
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kForwardBackward;  // the weights do not change
  spec.save_weights = scratch.file("weights.safetensors");
  const Record first = run_ok(spec);
  spec.load_weights = spec.save_weights;
  spec.save_weights = "";
  EXPECT_EQ(run_ok(spec).losses, first.losses);
}

// No state of a run reaches the next, and two processes count the same.
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

// Uses bytes of real text as ids.
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
  spec.measure_steps = 80;  // several passes over the text, so that its wording does not matter
  spec.record_steps = 0;
  const Record record = run_ok(spec);
  ASSERT_EQ(record.losses.size(), 80U);
  EXPECT_GT(record.losses.front(), 5);
  const double last_ten = std::accumulate(record.losses.end() - 10, record.losses.end(), 0.0) / 10;
  EXPECT_LT(last_ten, 0.7 * record.losses.front());
}

}  // namespace
}  // namespace headroom
