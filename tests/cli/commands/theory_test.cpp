#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;

int run_theory(std::vector<std::string> words) {
  words.insert(words.begin(), "theory");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return run_theory_command(static_cast<int>(argv.size()), argv.data());
}

std::string refusal_of_theory(const std::vector<std::string>& words) {
  return message_of<UsageError>([&] { run_theory(words); });
}

class TheoryCommand : public testing::Test {
 protected:
  std::string file(const char* name) const { return folder_.file(name); }
  std::string text_of(const char* name) const { return read_text(file(name)); }

  ScratchDirectory folder_;
};

TEST_F(TheoryCommand, ListsATrainingStepUnlessToldOtherwise) {
  ASSERT_EQ(run_theory({"--model-size", "2.7B", "--output", file("a.json"), "--format", "json"}),
            kExitOk);
  const auto tables = nlohmann::json::parse(text_of("a.json"));
  EXPECT_THAT(tables.at(0).at("title").get<std::string>(), HasSubstr("training_fp32"));
  EXPECT_THAT(text_of("a.json"), HasSubstr("20.97 MB"));
}

TEST_F(TheoryCommand, TakesTheAssignmentsSpellingOfMixedPrecision) {
  ASSERT_EQ(run_theory({"--model-size", "small", "--use-mixed-precision", "--dtype", "bf16",
                        "--device", "cpu", "--output", file("a.md"), "--format", "md"}),
            kExitOk);
  EXPECT_THAT(text_of("a.md"), HasSubstr("training_bf16"));
}

TEST_F(TheoryCommand, SaysWhatIsWrongWithAFlagAndWritesNothing) {
  const std::string out = file("a.txt");
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--output", out});
    return refusal_of_theory(words);
  };
  EXPECT_THAT(with({"--model-size", "2.8B"}), HasSubstr("did you mean 2.7B"));
  EXPECT_THAT(with({"--model-size", "small", "--context-length", "0"}), HasSubstr("'0'"));
  EXPECT_THAT(with({"--model-size", "small", "--context-length", "512x"}), HasSubstr("'512x'"));
  EXPECT_THAT(with({"--model-size", "small", "--context-length", "128,256"}), HasSubstr("list"));
  EXPECT_THAT(with({"--model-size", "small", "--heads", "7"}), HasSubstr("--heads"));
  EXPECT_THAT(with({"--model-size", "small", "--seed", "1"}), HasSubstr("--seed"));
  EXPECT_THAT(with({"--model-size", "small", "--format", "xml"}), HasSubstr("xml"));
  EXPECT_THAT(with({"--model-size", "small", "--disk-rate", "7GB/s"}),
              HasSubstr("this run keeps nothing on a disk"));
  EXPECT_THAT(with({"--model-size", "small", "--optimizer-offload", "nvme:.", "--disk-rate", "7"}),
              HasSubstr("--disk-rate: '7' is no rate"));
  EXPECT_THAT(with({}), HasSubstr("--model-size"));
  EXPECT_THAT(refusal_of_theory({"--model-size", "small", "--output", ""}), HasSubstr("--output"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TheoryCommand, AnOutputThatCannotBeWrittenIsAnEnvironmentError) {
  EXPECT_THROW(run_theory({"--model-size", "small", "--output", file("none/a.txt")}),
               std::runtime_error);
}

}  // namespace
}  // namespace headroom
