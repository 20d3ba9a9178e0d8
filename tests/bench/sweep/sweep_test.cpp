#include "bench/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "bench/sweep/values.h"
#include "profiling/record/record_file.h"
#include "tests/bench/launch/stub_cell.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

std::vector<RunSpec> seeds(const std::vector<std::string>& values) {
  return expand(RunSpec{}, {{"seed", values}});
}

// A deadline in seconds while one cell hangs, enough for the others on a busy machine.
constexpr double kForOthers = 5;

std::vector<Status> statuses(const SweepResult& result) {
  std::vector<Status> list;
  for (const Record& record : result.records) list.push_back(record.status);
  return list;
}

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    options_.cell.program = STUB_CELL;
    options_.records_path = folder_.file("records.jsonl");
    options_.on_progress = [this](const std::string& line) { progress_.push_back(line); };
  }
  ~SweepTest() override { unsetenv("STUB_IDENTITY"); }

  ScratchDirectory folder_;
  SweepOptions options_;
  std::vector<std::string> progress_;
};

TEST(Grid, TheLastAxisIsTheFastestAndDuplicatesAreDropped) {
  const auto specs = expand({.batch_size = 2}, {{"model_size", {"small", "medium"}},
                                                {"context_length", {"128", "256", "128"}}});
  std::vector<std::string> names;
  for (const RunSpec& spec : specs) {
    names.push_back(spec.model_size + std::to_string(spec.context_length));
    EXPECT_EQ(spec.batch_size, 2);
  }
  EXPECT_THAT(names, ElementsAre("small128", "small256", "medium128", "medium256"));
  EXPECT_EQ(expand({}, {}).size(), 1U);
}

TEST(Grid, BadAxesAreUsageErrors) {
  const std::vector<std::string> many(1000, "1");
  for (const std::vector<Axis>& axes :
       std::vector<std::vector<Axis>>{{{"context_lenght", {"128"}}},
                                      {{"context_length", {"128", "512x"}}},
                                      {{"context_length", {}}},
                                      {{"seed", {"1"}}, {"seed", {"2"}}},
                                      {{"model_size", {"smal"}}},
                                      {{"heads", {"7"}}},
                                      {{"seed", many}, {"batch_size", many}}}) {
    EXPECT_THROW(expand({}, axes), UsageError) << axes.front().field;
  }
  try {
    expand({}, {{"context_lenght", {"128"}}});
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean context_length?"));
  }
}

TEST_F(SweepTest, OneOutOfMemoryIsARowAndTheSweepGoesOn) {
  const auto result = run_sweep(seeds({"1", "101", "2"}), options_);
  EXPECT_THAT(statuses(result), ElementsAre(Status::kOk, Status::kOom, Status::kOk));
  EXPECT_EQ(exit_code(result), 3);
  EXPECT_EQ(read_records(options_.records_path).size(), 3U);
}

TEST_F(SweepTest, EveryEndingIsARow) {
  options_.cell.deadline_seconds = kForOthers;  // for all five: one of them hangs
  const auto result = run_sweep(seeds({"102", "103", "105", "106", "1"}), options_);
  EXPECT_THAT(statuses(result), ElementsAre(Status::kFailed, Status::kKilled, Status::kTimeout,
                                            Status::kFailed, Status::kOk));
  EXPECT_EQ(read_records(options_.records_path).size(), 5U);
}

TEST_F(SweepTest, EachCellHasAProcessOfItsOwnAndAloneGivesTheSame) {
  const auto all = run_sweep(seeds({"1", "2", "3"}), options_);
  std::set<int64_t> pids = {getpid()};
  for (const Record& record : all.records) pids.insert(record.environment["pid"].get<int64_t>());
  EXPECT_EQ(pids.size(), 4U);
  options_.records_path = "";
  const auto alone = run_sweep(seeds({"3"}), options_);
  EXPECT_EQ(alone.records[0].peak->allocated, all.records[2].peak->allocated);
}

TEST_F(SweepTest, TheExitCodeCountsOnlyOkAsSuccess) {
  const auto code = [](std::vector<Status> list, bool stopped = false) {
    SweepResult result;
    result.interrupted = stopped;
    for (const Status status : list) {
      result.records.emplace_back();
      result.records.back().status = status;
      result.records.back().peak = MemoryBytes{1, 1, 1};
    }
    return exit_code(result);
  };
  EXPECT_EQ(code({Status::kOk, Status::kOk}), 0);
  EXPECT_EQ(code({Status::kOk, Status::kOom}), 3);
  EXPECT_EQ(code({Status::kOom, Status::kOom}), 4);
  EXPECT_EQ(code({Status::kUnsupported}), 4);
  EXPECT_EQ(code({Status::kOk}, true), 130);
  EXPECT_EQ(code({}, true), 130);
}

TEST_F(SweepTest, RowsThatAreThereAreNotRunAgain) {
  const auto specs = seeds({"1", "101", "102", "2"});
  const auto first = run_sweep(specs, options_);
  progress_.clear();
  const auto second = run_sweep(specs, options_);
  EXPECT_EQ(second.reused, 3);  // the failed one runs again
  EXPECT_EQ(statuses(second), statuses(first));
  for (const size_t i : {0, 1, 3}) {
    EXPECT_EQ(to_json_line(second.records[i]), to_json_line(first.records[i]));
  }
  EXPECT_EQ(read_records(options_.records_path).size(), 5U);
  EXPECT_THAT(progress_, ElementsAre(HasSubstr("3 of 4 Records are already in "),
                                     MatchesRegex("\\[3/4\\] .*seed-102 failed .*")));
  options_.resume = false;
  EXPECT_EQ(run_sweep(specs, options_).reused, 0);
}

TEST_F(SweepTest, AChangedSettingIsAnotherResult) {
  run_sweep(seeds({"1"}), options_);
  RunSpec changed{.seed = 1};
  changed.weight_decay = 0.02;
  EXPECT_EQ(run_sweep({changed}, options_).reused, 0);
  EXPECT_EQ(run_sweep({changed}, options_).reused, 1);
}

TEST_F(SweepTest, AnotherBuildsRowsStayInTheFileAndAreNeverMixedIn) {
  const auto specs = seeds({"1", "2"});
  run_sweep(specs, options_);
  setenv("STUB_IDENTITY", R"({"build": "b2", "libtorch": "2.11.0"})", 1);
  const auto other = run_sweep(specs, options_);
  EXPECT_EQ(other.reused, 0);
  EXPECT_EQ(other.records.size(), 2U);
  for (const Record& record : other.records) {
    EXPECT_EQ(record.environment["identity"]["build"], "b2");
  }
  EXPECT_EQ(read_records(options_.records_path).size(), 4U);
  unsetenv("STUB_IDENTITY");
  EXPECT_EQ(run_sweep(specs, options_).reused, 2);
}

TEST(ResultKey, EverySettingThatChangesTheResultChangesIt) {
  const nlohmann::json identity = {{"build", "b1"}};
  std::set<std::string> keys = {result_key({}, identity)};
  size_t count = 1;
  for (const Field& field : fields()) {
    RunSpec spec;
    std::string value = field.numeric() ? "3" : "else";
    if (field.name == "device") value = "cpu";
    if (field.name == "checkpoint") value = "every:3";
    if (field.name == "top_p") value = "0.5";
    if (field.name == "mesh") value = "dp=3";
    if (field.name == "schedule") value = "gpipe";
    if (!field.choices.empty()) {
      if (field.choices.size() < 2) continue;
      value = field.choices[0] == field.get(spec) ? field.choices[1] : field.choices[0];
    }
    field.set(spec, value);
    ASSERT_NE(field.get(spec), field.get(RunSpec{})) << field.name;
    if (field.changes_result) ++count;
    keys.insert(result_key(spec, identity));
    EXPECT_EQ(keys.size(), count) << field.name;
  }
  keys.insert(result_key({}, {{"build", "b2"}}));
  setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
  keys.insert(result_key({}, identity));
  unsetenv("PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(keys.size(), count + 2);
  EXPECT_THAT(*keys.begin(), MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(keys.begin()->size(), 16U);
}

TEST(ResultKey, TheProcessorCountsWhereThereAreTimes) {
  const nlohmann::json one = {{"build", "b1"}, {"cpu", "one"}};
  const nlohmann::json other = {{"build", "b1"}, {"cpu", "other"}};
  for (const char* device : {"cpu", "cuda", "auto"}) {
    const RunSpec spec{.device = parse_device(device)};
    EXPECT_NE(result_key(spec, one), result_key(spec, other)) << device;
  }
  const RunSpec on_virtual{.device = parse_device("virtual:h200")};
  EXPECT_EQ(result_key(on_virtual, one), result_key(on_virtual, other));
  EXPECT_NE(result_key(on_virtual, one), result_key(on_virtual, {{"build", "b2"}, {"cpu", "one"}}));
}

TEST(ResultKey, ATokenFileThatChangedIsAnotherInput) {
  const ScratchDirectory folder;
  const RunSpec spec{.tokens = folder.file("tokens.bin")};
  write_text(spec.tokens, "abcd");
  const std::string before = result_key(spec, {});
  EXPECT_EQ(result_key(spec, {}), before);
  write_text(spec.tokens, "abcdef");
  EXPECT_NE(result_key(spec, {}), before);
}

// The card itself, not the file that defines it. (tests/virtual_gpu/profile/profile_test.py changes
// one.)
TEST(ResultKey, TheFiguresOfAVirtualCardAreInIt) {
  const RunSpec spec{.device = parse_device("virtual:h200,bytes=1GiB")};
  const std::string card = result_conditions(spec)["card"];
  EXPECT_THAT(card, HasSubstr("total_bytes=1073741824"));
  nlohmann::json other = result_conditions(spec);
  other["card"] = card + ";l2_bytes=1";
  EXPECT_NE(result_key(spec, {}, other), result_key(spec, {}));
  EXPECT_FALSE(result_conditions({.device = parse_device("cpu")}).contains("card"));
}

TEST(ValuesOf, KeepIsOfTheDirectoryBeforeIt) {
  EXPECT_THAT(values_of(*find_field("optimizer_offload"), "none,nvme:/mnt/a,keep,cpu"),
              ElementsAre("none", "nvme:/mnt/a,keep", "cpu"));
}

TEST(ResultKey, WhatRanBeforeInItsProcessIsInIt) {
  const RunSpec spec;
  const auto key = [&](const Before& before) {
    return result_key(spec, {}, result_conditions(spec, before));
  };
  EXPECT_EQ(key({}), result_key(spec, {})) << "the first is as one in a process of its own";
  EXPECT_NE(key({1, "a"}), key({}));
  EXPECT_NE(key({1, "a"}), key({1, "b"}));
}

TEST_F(SweepTest, InOneProcessACellThatDiesCostsItselfAndTheRestGoesOnInAFreshOne) {
  options_.one_process = true;
  const auto result = run_sweep(seeds({"1", "2", "103", "3", "4"}), options_);
  EXPECT_THAT(statuses(result),
              ElementsAre(Status::kOk, Status::kOk, Status::kKilled, Status::kOk, Status::kOk));
  std::vector<int> before;
  for (const Record& record : result.records) {
    before.push_back(record.environment["cell"]["cells_before"].get<int>());
  }
  EXPECT_THAT(before, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(progress_, testing::Contains(MatchesRegex(
                             "the process ended with .*seed-103; 2 cells continue in a new one")));
  EXPECT_EQ(read_records(options_.records_path).size(), 5U);
}

TEST_F(SweepTest, InOneProcessAllRowsAreThereOrAllCellsRun) {
  options_.one_process = true;
  const auto first = run_sweep(seeds({"1", "2"}), options_);
  EXPECT_EQ(run_sweep(seeds({"1", "2"}), options_).reused, 2);
  progress_.clear();
  EXPECT_EQ(run_sweep(seeds({"1", "2", "3"}), options_).reused, 0);
  EXPECT_THAT(progress_.front(), HasSubstr("all cells run again"));
  EXPECT_EQ(run_sweep(seeds({"2", "1"}), options_).reused, 0) << "another order";
  options_.one_process = false;
  EXPECT_EQ(run_sweep(seeds({"2"}), options_).reused, 1) << "it was the first of its process once";
}

TEST_F(SweepTest, AVirtualCardIsAsFullHoweverMuchTheHostHas) {
  RunSpec spec{.device = parse_device("virtual:h200"), .seed = 101};
  setenv("HEADROOM_VIRTUAL_GPU", folder_.file("").c_str(), 1);
  folder_.write("libvirtual_gpu.so", "");
  std::filesystem::create_directory(folder_.file("driver"));
  folder_.write("driver/libcuda.so.1", "");
  folder_.write("driver/libnccl.so.2", "");
  options_.cell.host_memory_bytes = 1000;
  run_sweep({spec}, options_);
  options_.cell.host_memory_bytes = 2000;
  EXPECT_EQ(run_sweep({spec}, options_).reused, 1);
  spec.snapshot = folder_.file("oom.pickle");
  EXPECT_EQ(run_sweep({spec}, options_).reused, 0) << "there is no snapshot of it yet";
  unsetenv("HEADROOM_VIRTUAL_GPU");
}

TEST_F(SweepTest, AnOutOfMemoryIsTriedAgainWithMoreMemory) {
  const auto specs = seeds({"101"});
  options_.cell.host_memory_bytes = 1000;
  run_sweep(specs, options_);
  options_.cell.host_memory_bytes = 1040;  // available memory fluctuates
  EXPECT_EQ(run_sweep(specs, options_).reused, 1);
  options_.cell.host_memory_bytes = 2000;
  EXPECT_EQ(run_sweep(specs, options_).reused, 0);
  options_.cell.host_memory_bytes = 0;  // no limit
  EXPECT_EQ(run_sweep(specs, options_).reused, 0);
}

TEST_F(SweepTest, ARowWhoseSnapshotIsGoneIsRunAgain) {
  RunSpec spec{.seed = 1};
  run_sweep({spec}, options_);
  spec.snapshot = folder_.file("one.pickle");
  EXPECT_EQ(run_sweep({spec}, options_).reused, 0);
  EXPECT_EQ(run_sweep({spec}, options_).reused, 1);
  std::filesystem::remove(spec.snapshot);
  EXPECT_EQ(run_sweep({spec}, options_).reused, 0);
  EXPECT_TRUE(std::filesystem::exists(spec.snapshot));
}

TEST_F(SweepTest, TwoRunsMayNotWriteOneFile) {
  auto specs = seeds({"1", "2"});
  for (RunSpec& spec : specs) spec.snapshot = folder_.file("one.pickle");
  EXPECT_THROW(run_sweep(specs, options_), UsageError);
  EXPECT_FALSE(std::filesystem::exists(options_.records_path));
}

// Note [Files apart] in files/same_file.h.
TEST_F(SweepTest, WhatACellWritesIsNotReadAndNotTheRecords) {
  const std::string tokens = folder_.write("tokens.bin", "\x01\x02\x03\x04");
  std::filesystem::create_symlink("tokens.bin", folder_.file("link"));
  auto specs = seeds({"1", "2"});
  for (RunSpec& spec : specs) spec.tokens = tokens;
  EXPECT_NO_THROW(run_sweep(specs, options_));
  for (const std::string& output :
       {tokens, folder_.file("./tokens.bin"), folder_.file("link"), options_.records_path}) {
    specs.back().snapshot = output;
    EXPECT_THROW(run_sweep(specs, options_), UsageError) << output;
  }
  specs.back().snapshot = folder_.file("one.pickle");
  specs.front().snapshot = folder_.file("./one.pickle");
  EXPECT_THAT(message_of<UsageError>([&] { run_sweep(specs, options_); }),
              HasSubstr("would be written by two cells"));
}

TEST_F(SweepTest, NothingIsLeftWhenItCannotStart) {
  EXPECT_THROW(run_sweep({}, options_), UsageError);
  options_.cell.program = "/nonexistent/headroom-cell";
  EXPECT_THROW(run_sweep(seeds({"1"}), options_), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(options_.records_path));
}

TEST_F(SweepTest, ProgressTellsPositionStatusPeakTimeAndWhatIsLeft) {
  run_sweep(seeds({"1", "101", "2", "3"}), options_);
  EXPECT_THAT(
      progress_,
      ElementsAre(MatchesRegex("\\[1/4\\] small_ctx512_forward_fp32_seed-1 ok 1.000 MiB [0-9.]+ s"),
                  MatchesRegex(
                      "\\[2/4\\] .*_seed-101 oom 1.000 MiB [0-9.]+ s: tried to allocate 2.000 GiB"),
                  MatchesRegex("\\[3/4\\] .*_seed-2 ok 1.000 MiB [0-9.]+ s, ETA [0-9]+ s"),
                  MatchesRegex("\\[4/4\\] .*_seed-3 ok 1.000 MiB [0-9.]+ s")));
}

}  // namespace
}  // namespace headroom
