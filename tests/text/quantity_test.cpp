#include "text/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Quantity, IntegersAreReadWholeOrRefused) {
  EXPECT_EQ(parse_integer("--n", "512", 1, 1000), 512);
  for (const char* bad :
       {"512x", "1e3", "", " 5", "5 ", "+5", "0x10", "99999999999999999999", "1001", "0"}) {
    EXPECT_THROW(parse_integer("--n", bad, 1, 1000), UsageError) << bad;
  }
}

TEST(Quantity, AMessageNamesFlagValueRangeAndExample) {
  try {
    parse_integer("--context-length", "512x", 1, 1024);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--context-length"));
    EXPECT_THAT(error.what(), HasSubstr("'512x'"));
    EXPECT_THAT(error.what(), HasSubstr("1 to 1024"));
    EXPECT_THAT(error.what(), HasSubstr("example: --context-length 4"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
  }
}

TEST(Quantity, NumbersRefuseTrailingTextCommasAndNan) {
  EXPECT_DOUBLE_EQ(parse_number("--lr", "0.5", 0, 1), 0.5);
  for (const char* bad : {"0.5x", "0.5GB", "1,5", "nan", "inf", "", "-1"}) {
    EXPECT_THROW(parse_number("--lr", bad, 0, 1), UsageError) << bad;
  }
}

TEST(Quantity, GibAndGbAreDifferentSizes) {
  EXPECT_EQ(parse_bytes("--m", "24GiB"), 24LL * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_bytes("--m", "24GB"), 24'000'000'000);
  EXPECT_EQ(parse_bytes("--m", "0.5GiB"), 512LL * 1024 * 1024);
  EXPECT_EQ(parse_bytes("--m", "17"), 17);
  EXPECT_EQ(parse_bytes("--m", "58.11GiB"), 62'395'137'393);  // 62395137392.64
  for (const char* bad : {"GiB", "24gigs", "-1GiB", "nan", "1e30GiB", "0.3B", "", "24 GiB"}) {
    EXPECT_THROW(parse_bytes("--m", bad), UsageError) << bad;
  }
}

TEST(Quantity, SizesAsLogsPrintThemAreRoundedToTheByte) {
  EXPECT_EQ(parse_bytes("--gpu-memory", "14.56GiB"), 15'633'680'957);  // 15633680957.44
  EXPECT_EQ(parse_bytes("--m", "22.9GiB"), 24'588'687'770);            // 24588687769.6
  try {
    parse_bytes("--m", "14,56GiB");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rounded to the byte"));
  }
}

TEST(Quantity, AnExampleCanBeExchanged) {
  const UsageError error("--m", "x", "is bad", "--m 4");
  EXPECT_EQ(error.example(), "--m 4");
  EXPECT_STREQ(error.with_example("--n 5 --m 4").what(), "--m: 'x' is bad (example: --n 5 --m 4)");
  EXPECT_STREQ(error.with_example("").what(), "--m: 'x' is bad");
  EXPECT_STREQ(UsageError("--card is needed; example: a -- b").with_example("c").what(),
               "--card is needed; example: c");
  EXPECT_STREQ(UsageError("unknown").with_example("c").what(), "unknown")
      << "there is none to exchange";
}

TEST(Quantity, ListsRefuseHoles) {
  EXPECT_THAT(parse_list("--c", "128,256", "--c 128"), ElementsAre("128", "256"));
  EXPECT_THAT(parse_list("--c", "128", "--c 128"), ElementsAre("128"));
  for (const char* bad : {"", ",", "128,,256", "128,", ",128"}) {
    EXPECT_THROW(parse_list("--c", bad, "--c 128"), UsageError) << bad;
  }
}

TEST(Quantity, BytesPrintWithTheirUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(5 * 1024 * 1024), "5.000 MiB");
  EXPECT_EQ(format_bytes(-5 * 1024 * 1024), "-5.000 MiB");
  EXPECT_EQ(format_bytes(int64_t{12} << 40), "12.000 TiB");
}

TEST(Quantity, ExactBytesAreReadAsTheyWereWritten) {
  EXPECT_EQ(exact_bytes(0), "0");
  EXPECT_EQ(exact_bytes(1000), "1000");
  EXPECT_EQ(exact_bytes(65536), "64KiB");
  EXPECT_EQ(exact_bytes(int64_t{3} << 40), "3TiB");
  for (const int64_t bytes : {1LL, 1023LL, 1536LL, 24LL << 30, (5LL << 30) + 1}) {
    EXPECT_EQ(parse_bytes("--host-memory", exact_bytes(bytes)), bytes);
  }
}

}  // namespace
}  // namespace headroom
