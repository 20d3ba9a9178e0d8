#include "bench/google/bench_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/google/library_flags.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BenchRequest parse(std::vector<const char*> words, bool has_card = false) {
  words.insert(words.begin(), "headroom_bench");
  return parse_request(static_cast<int>(words.size()), words.data(), has_card);
}

std::vector<std::string> names(const BenchRequest& request) {
  std::vector<std::string> names;
  for (const StepCase& step_case : request.cases) names.push_back(step_case.name);
  return names;
}

std::string refusal(const std::vector<const char*>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BenchRequest, WithoutACardTheGridIsSmallAndStepsAreFew) {
  const BenchRequest request = parse({});
  EXPECT_EQ(request.cases.size(), 1 * 3 * 2 * 2);
  EXPECT_EQ(request.cases.front().name, "step/small/ctx128/forward/fp32");
  EXPECT_EQ(request.cases.front().spec.measure_steps, 3);
  EXPECT_GT(request.host_memory_bytes, 0);
}

TEST(BenchRequest, WithACardAllSizesRunUnlessTheDeviceIsTheProcessor) {
  EXPECT_EQ(parse({}, true).cases.size(), 6 * 3 * 2 * 2);
  EXPECT_EQ(parse({}, true).cases.front().spec.measure_steps, 10);
  EXPECT_EQ(parse({"--device", "cpu"}, true).cases.front().spec.measure_steps, 3);
  EXPECT_EQ(parse({"--measure-steps=4"}, true).cases.front().spec.measure_steps, 4);
}

TEST(BenchRequest, AValueKeepsItsOwnOptions) {
  const BenchRequest request =
      parse({"--context-length", "64", "--profile-type", "training", "--precision", "fp32",
             "--activations", "int8:block=32,min=1MiB,fp8"});
  ASSERT_EQ(request.cases.size(), 2);
  EXPECT_EQ(to_string(request.cases.front().spec.activations), "int8:block=32,min=1MiB");
  EXPECT_EQ(to_string(request.cases.back().spec.activations), "fp8");
}

TEST(BenchRequest, ANameSaysWhatWasChosenOrVaries) {
  EXPECT_THAT(names(parse({"--context-length", "64", "--profile-type", "training", "--precision",
                           "fp32", "--attention=eager,sdpa", "--batch-size", "2"})),
              ElementsAre("step/small/ctx64/training/fp32/attention:eager",
                          "step/small/ctx64/training/fp32/attention:sdpa"));
  EXPECT_THAT(names(parse({"--context-length", "64", "--profile-type", "training", "--precision",
                           "fp32", "--layers", "1,2"})),
              ElementsAre("step/small-custom/ctx64/training/fp32/layers:1",
                          "step/small-custom/ctx64/training/fp32/layers:2"));
}

TEST(BenchRequest, AMinimumTimeLetsTheLibrarySearch) {
  EXPECT_TRUE(parse({}).cases.front().fixed_iterations);
  EXPECT_FALSE(parse({"--benchmark_min_time=0.5"}).cases.front().fixed_iterations);
}

TEST(BenchRequest, TheLibrarysFlagsAreLeftToItAndTheLastValueOfOneCounts) {
  const std::vector<std::string> flags =
      parse({"--benchmark_out=a.json", "--v=1", "--layers", "1", "--benchmark_out=b.json"})
          .library_flags;
  EXPECT_THAT(flags, ElementsAre("--benchmark_out=a.json", "--v=1", "--benchmark_out=b.json"));
  EXPECT_EQ(library_value(flags, "--benchmark_out"), "b.json");
  EXPECT_EQ(library_value(flags, "--benchmark_out_format"), std::nullopt);
  setenv("BENCHMARK_OUT_FORMAT", "csv", 1);
  EXPECT_EQ(library_value(flags, "--benchmark_out_format"), "csv");
  unsetenv("BENCHMARK_OUT_FORMAT");
}

TEST(BenchRequest, BadWordsAreRefusedWithWhatIsMeant) {
  EXPECT_THAT(refusal({"--model-size", "smal"}), HasSubstr("did you mean small?"));
  EXPECT_THAT(refusal({"--modle-size", "small"}), HasSubstr("did you mean --model-size?"));
  EXPECT_THAT(refusal({"--context-length", "128,,256"}), HasSubstr("--context-length"));
  EXPECT_THAT(refusal({"--context-length", "128", "256"}), HasSubstr("belongs to no flag"));
  EXPECT_THAT(refusal({"--context-length"}), HasSubstr("needs a value"));
  EXPECT_THAT(refusal({"--measure-steps", "0"}), HasSubstr("--measure-steps"));
  EXPECT_THAT(refusal({"--host-memory", "1GiB,2GiB"}), HasSubstr("--host-memory"));
  EXPECT_THAT(refusal({"--peak-flops", "0"}), HasSubstr("--peak-flops"));
  EXPECT_THAT(refusal({"--snapshot", "a.pickle"}), HasSubstr("unknown option --snapshot"));
}

}  // namespace
}  // namespace headroom
