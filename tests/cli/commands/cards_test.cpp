#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The command's output.
std::string printed(std::vector<std::string> words) {
  words.insert(words.begin(), "cards");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_cards_command(static_cast<int>(argv.size()), argv.data()), kExitOk);
  return testing::internal::GetCapturedStdout();
}

TEST(CardsCommand, PrintsEveryCardUnlessSomeAreNamed) {
  EXPECT_THAT(printed({}), AllOf(HasSubstr("NVIDIA H200"), HasSubstr("NVIDIA B200"),
                                 HasSubstr("v100: refused: libtorch's CUDA 13 wheel")));
  EXPECT_THAT(printed({"H200", "t4"}), AllOf(HasSubstr("139.80"), HasSubstr("Tesla T4"),
                                             Not(HasSubstr("B200")), Not(HasSubstr("refused"))));
}

TEST(CardsCommand, CsvHoldsTheExactFigures) {
  EXPECT_EQ(
      printed({"v100", "--format", "csv"}),
      "card,driver name,cc,SMs,GiB,GB/s,host link,host GB/s,fp64,fp32,tf32,fp16,bf16,fp8,int8,"
      "context MiB,context,total_bytes,memory_bandwidth,host_bandwidth,context_bytes,refused\n"
      "v100,Tesla V100-SXM2-32GB,7.0,80,31.73,900,PCIe 3.0 x16,15.8,7.8,15.7,,125,,,,"
      "320,assumed,34072559616,900000000000,15753846154,335544320,"
      "\"libtorch's CUDA 13 wheel (2.11.0+cu130) has no sm_70 code: it is built for sm_75, "
      "sm_80, sm_86, sm_90, sm_100 and sm_120\"\n");
  EXPECT_THAT(printed({"rtx3090", "--format", "md"}), HasSubstr("| 256 | measured |"));
  EXPECT_THAT(printed({"gh200-96gb", "h200", "--format", "md"}),
              AllOf(HasSubstr("| NVLink-C2C | 450.0 |"), HasSubstr("| PCIe 5.0 x16 | 63.0 |"),
                    HasSubstr("the peak of the link to the host in one direction")));
}

TEST(CardsCommand, JsonHasTheSourceOfEveryFigure) {
  const auto json = nlohmann::json::parse(printed({"h200", "--format", "json"}));
  ASSERT_EQ(json.at("cards").size(), 1U);
  const auto& card = json.at("cards").at(0);
  EXPECT_EQ(card.at("driver_name"), "NVIDIA H200");
  EXPECT_EQ(card.at("peak_tflops").at("bf16"), 989.4);
  EXPECT_EQ(card.at("context").at("kind"), "assumed");
  EXPECT_THAT(card.at("context").at("source").get<std::string>(), StartsWith("rule: "));
  EXPECT_EQ(card.at("host_link"), "PCIe 5.0 x16");
  EXPECT_EQ(card.at("host_bandwidth"), 63015384615);
  EXPECT_EQ(card.at("sources").size(), 5U);
  EXPECT_EQ(json.at("compute_capabilities").at("9.0").at("blocks_per_multiprocessor"), 32);
}

TEST(CardsCommand, BadUseIsRefused) {
  const auto message = [](const std::vector<std::string>& words) {
    return message_of<UsageError>([&] { printed(words); });
  };
  EXPECT_THAT(message({"h2000"}), HasSubstr("did you mean h200?"));
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(message({"--format", "xml"}), HasSubstr("'xml' is unknown"));
  testing::internal::GetCapturedStdout();
}

}  // namespace
}  // namespace headroom
