#include "bench/google/bench_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(request.cases.front().full_name(),
            "step/small/ctx128/forward/fp32/iterations:3/manual_time");
  EXPECT_GT(request.host_memory_bytes, 0);
}

TEST(BenchRequest, WithACardAllSizesRunUnlessTheDeviceIsTheProcessor) {
  EXPECT_EQ(parse({}, true).cases.size(), 6 * 3 * 2 * 2);
  EXPECT_EQ(parse({}, true).cases.front().spec.measure_steps, 10);
  EXPECT_EQ(parse({"--device", "cpu"}, true).cases.front().spec.measure_steps, 3);
  EXPECT_EQ(parse({"--measure-steps=4"}, true).cases.front().spec.measure_steps, 4);
}

TEST(BenchRequest, ANameSaysWhatWasChosenOrVaries) {
  EXPECT_THAT(names(parse({"--context-length", "64", "--profile-type", "training", "--precision",
                           "fp32", "--attention=eager,flash", "--batch-size", "2"})),
              ElementsAre("step/small/ctx64/training/fp32/attention:eager",
                          "step/small/ctx64/training/fp32/attention:flash"));
  EXPECT_THAT(names(parse({"--context-length", "64", "--profile-type", "training", "--precision",
                           "fp32", "--layers", "1,2"})),
              ElementsAre("step/small-custom/ctx64/training/fp32/layers:1",
                          "step/small-custom/ctx64/training/fp32/layers:2"));
}

TEST(BenchRequest, AMinimumTimeLetsTheLibrarySearch) {
  const BenchRequest request = parse({"--benchmark_min_time=0.5"});
  EXPECT_EQ(request.cases.front().full_name(), "step/small/ctx128/forward/fp32/manual_time");
}

TEST(BenchRequest, TheOutputFileIsKeptFromTheLibrary) {
  const GoogleFlags google = parse({"--benchmark_out=a.json", "--benchmark_filter=small"}).google;
  EXPECT_EQ(google.out, "a.json");
  EXPECT_THAT(google.arguments, ElementsAre("--benchmark_filter=small"));
}

TEST(BenchRequest, BadWordsAreRefusedWithWhatIsMeant) {
  EXPECT_THAT(refusal({"--model-size", "smal"}), HasSubstr("did you mean small?"));
  EXPECT_THAT(refusal({"--modle-size", "small"}), HasSubstr("did you mean --model-size?"));
  EXPECT_THAT(refusal({"--benchmark_filtre=x"}), HasSubstr("did you mean --benchmark_filter?"));
  EXPECT_THAT(refusal({"--benchmark_filter"}), HasSubstr("needs its value"));
  EXPECT_THAT(refusal({"--benchmark_repetitions=3x"}), HasSubstr("3x"));
  EXPECT_THAT(refusal({"--benchmark_format=xml"}), HasSubstr("allowed: console, json, csv"));
  EXPECT_THAT(refusal({"--context-length", "128,,256"}), HasSubstr("--context-length"));
  EXPECT_THAT(refusal({"--context-length", "128", "256"}), HasSubstr("belongs to no flag"));
  EXPECT_THAT(refusal({"--context-length"}), HasSubstr("needs a value"));
  EXPECT_THAT(refusal({"--measure-steps", "0"}), HasSubstr("--measure-steps"));
  EXPECT_THAT(refusal({"--host-memory", "1GiB,2GiB"}), HasSubstr("--host-memory"));
  EXPECT_THAT(refusal({"--peak-flops", "0"}), HasSubstr("--peak-flops"));
  EXPECT_THAT(refusal({"--snapshot", "a.pickle"}), HasSubstr("unknown option --snapshot"));
}

TEST(BenchRequest, AFilterIsReadAsTheLibraryReadsIt) {
  const std::vector<std::string> names = {"step/small/ctx128/training/fp32",
                                          "step/small/ctx256/training/fp32"};
  EXPECT_EQ(count_matches("", names), 2U);
  EXPECT_EQ(count_matches("all", names), 2U);
  EXPECT_EQ(count_matches("ctx(128|512)", names), 1U);
  EXPECT_EQ(count_matches("-ctx128", names), 1U);
  for (const char* none : {"medium", "-step", "("}) {
    EXPECT_THROW(count_matches(none, names), UsageError) << none;
  }
  try {
    count_matches("smal/ctx128", {"step/small/ctx128/training/fp32"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean small/ctx128?"));
  }
}

}  // namespace
}  // namespace headroom
