#include "text/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

template <typename Call>
std::string refusal_of_words(const Call& call) {
  return message_of<UsageError>(call);
}

TEST(Words, JoinPutsTheSeparatorBetweenAndNowhereElse) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "", "c"}), "a, , c");
  EXPECT_EQ(join({"a", "b"}, " > "), "a > b");
}

TEST(Words, NearestNameAcceptsTwoEditsAtMost) {
  EXPECT_EQ(nearest_name("smal", {"small", "medium"}), "small");
  EXPECT_EQ(nearest_name("tiny", {"small", "medium"}), "");
}

TEST(Words, AnUnknownWordIsRefusedWithAllThatAreAllowed) {
  EXPECT_NO_THROW(check_choice("--v", "a", {"a", "b"}, "--v a"));
  EXPECT_EQ(refusal_of_words([] {
              check_choice("--v", "aa", {"a", "b"}, "--v a");
            }),
            "--v: 'aa' is unknown; allowed: a, b (example: --v a)");
  EXPECT_NO_THROW(check_name("--v", "small", {"small", "xl"}, "--v xl"));
  EXPECT_EQ(refusal_of_words([] {
              check_name("--v", "smal", {"small", "xl"}, "--v xl");
            }),
            "--v: 'smal' is unknown; allowed: small, xl; did you mean small? (example: --v xl)");
  EXPECT_EQ(refusal_of_words([] {
              check_name("--v", "huge", {"small", "xl"}, "--v xl");
            }),
            "--v: 'huge' is unknown; allowed: small, xl (example: --v xl)");
}

TEST(Words, AShortenedOrSpelledOutWordIsRecognized) {
  const auto suggested = [](const char* typed, const std::vector<std::string>& known) {
    const std::string line = refusal_of_words([&] { check_name("--v", typed, known, ""); });
    const size_t at = line.find("did you mean ");
    return at == std::string::npos ? "" : line.substr(at + 13, line.find('?') - at - 13);
  };
  const std::vector<std::string> modes = {"forward-grad", "forward", "forward-backward",
                                          "training"};
  const std::vector<std::string> precisions = {"fp32", "tf32", "bf16", "fp16"};
  EXPECT_EQ(suggested("train", modes), "training");
  EXPECT_EQ(suggested("fwd", modes), "forward");
  EXPECT_EQ(suggested("bfloat16", precisions), "bf16");
  EXPECT_EQ(suggested("float16", precisions), "fp16");
  EXPECT_EQ(suggested("float32", precisions), "fp32");
  EXPECT_EQ(suggested("half", precisions), "");
  EXPECT_EQ(suggested("inference", modes), "");
  const std::vector<std::string> optimizers = {"adamw", "adam8bit", "sgd", "adam-mini"};
  EXPECT_EQ(suggested("adam8", optimizers), "adam8bit") << "and not adamw, a letter away";
  EXPECT_EQ(suggested("adam", optimizers), "adamw");
  EXPECT_EQ(suggested("adam-mini-v2", optimizers), "adam-mini");
  EXPECT_EQ(suggested("ad", {"advanced"}), "");
}

TEST(Words, AnUnknownOptionIsRefusedWithTheNearestOrTheWayToTheList) {
  EXPECT_EQ(refusal_of_words([] {
              refuse_option("--outptu", {"--output", "--format"});
            }),
            "unknown option --outptu, did you mean --output?");
  EXPECT_EQ(refusal_of_words([] { refuse_option("--nonsense", {"--output"}); }),
            "unknown option --nonsense; --help lists the known ones");
  const auto suggested = [](const char* typed) {
    const std::string line = refusal_of_words([&] {
      refuse_option(typed, {"--context-length", "--checkpoint", "--micro-batch-size", "--format"});
    });
    return line.substr(line.find_last_of(' ') + 1);
  };
  EXPECT_EQ(suggested("--context"), "--context-length?");
  EXPECT_EQ(suggested("--checkpoint-every"), "--checkpoint?");
  EXPECT_EQ(suggested("--micro-batches"), "--micro-batch-size?");
  EXPECT_EQ(suggested("--frobnicate"), "ones");
}

}  // namespace
}  // namespace headroom
